/* Products of a matrix and a vector. */
#ifndef GR_MATMUL_VECTOR_H
#define GR_MATMUL_VECTOR_H

#include "matmul/common.h"

/* Whether the best kernel is the one for a matrix and a vector, and the step of that. */
bool gr_matmul_is_vector(const gr_matmul *self);
gr_status gr_matmul_vector(const gr_matmul *self, gr_dtype dtype, const gr_matmul_ends *ends,
                           gr_program *program, gr_error *error);

#endif
