/* Arithmetic on the merged dimensions that general kernels get: fast division by their extents, and the
   increments of a strided iterator. The host computes them once per call, so that threads neither divide nor
   multiply in their loops. */
#ifndef GR_REDUCE_GENERAL_DIMS_H
#define GR_REDUCE_GENERAL_DIMS_H

#include <stddef.h>

#include "reduce/general/params.h"

/* The multiplier and the shift that replace a division by `d`. Unusable for d < 2. */
gr_fast_divmod gr_fast_divmod_of(uint64_t d);

/* Fills in the fast divisors of all extents, which the caller has set. */
void gr_dims_divide(gr_dims *dims);

/* The iterator over the first two dimensions that advances `step` elements per increment. */
gr_strided_iterator gr_dims_iterator(const gr_dims *dims, uint64_t step);

/* Moves `low` and `high`, bytes from an element, to the lowest and the highest first byte of all elements. */
void gr_dims_bounds(const gr_dims *dims, int64_t *low, int64_t *high);

void gr_dims_swap(gr_dims *dims, size_t a, size_t b);

#endif
