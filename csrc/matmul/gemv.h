/* Products of a matrix and a vector. */
#ifndef GR_MATMUL_GEMV_H
#define GR_MATMUL_GEMV_H

#include "matmul/common.h"

/* Whether the best kernel is the one for a matrix and a vector, and the step of that. */
bool gr_matmul_prefers_gemv(const gr_matmul *self);
gr_status gr_matmul_gemv(const gr_matmul *self, gr_dtype dtype, const gr_matmul_operands *operands,
                         gr_program *program, gr_error *error);

#endif
