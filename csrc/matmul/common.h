/* What the planners of this room share. */
#ifndef GR_MATMUL_COMMON_H
#define GR_MATMUL_COMMON_H

#include "matmul/matmul.h"

/* How many matrices a stack of these lengths has. */
uint64_t gr_matmul_stack_count(const uint64_t *stack);

/* A block for each of `tiles` along x, and of these for every matrix along y and z. */
gr_status gr_matmul_set_grid(gr_step *step, uint64_t tiles, uint64_t matrices, uint32_t threads,
                             gr_error *error);

/* Appends the sum of the slices of a product, which lie in a buffer. */
gr_status gr_matmul_add_slices(const gr_matmul *self, const gr_matmul_variant *variant, uint32_t slices,
                               uint32_t from, uint32_t to, gr_program *program, gr_error *error);

/* The entry of a rung; NULL: the kernel of the dtypes that have none. What follows the dtype in its name. */
void gr_matmul_name_kernel(const gr_matmul_variant *variant, gr_dtype dtype, const char *form,
                           gr_kernel_id *out);

#endif
