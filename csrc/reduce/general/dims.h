/* The dimensions that kernels are told. */
#ifndef GR_REDUCE_GENERAL_DIMS_H
#define GR_REDUCE_GENERAL_DIMS_H

#include <stddef.h>

#include "reduce/general/params.h"

/* What a division by `d` becomes; of no use below 2. */
gr_fast_divmod gr_fast_divmod_of(uint64_t d);

/* Fills in what kernels divide by: after the extents have been set. */
void gr_dims_divide(gr_dims *dims);

/* How threads go along the first two dimensions, `step` elements at a time. */
gr_walk gr_dims_walk(const gr_dims *dims, uint64_t step);

/* Exchanges two dimensions. */
void gr_dims_swap(gr_dims *dims, size_t a, size_t b);

#endif
