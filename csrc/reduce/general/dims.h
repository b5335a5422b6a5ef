/* The dimensions that kernels are told. */
#ifndef GR_REDUCE_GENERAL_DIMS_H
#define GR_REDUCE_GENERAL_DIMS_H

#include <stddef.h>

#include "reduce/general/params.h"

/* Fills in what kernels divide by: after the extents have been set. */
void gr_dims_divide(gr_dims *dims);

/* Exchanges two dimensions. */
void gr_dims_swap(gr_dims *dims, size_t a, size_t b);

#endif
