/* What the planners of this room share. */
#ifndef GR_MATMUL_PLAN_H
#define GR_MATMUL_PLAN_H

#include "matmul/matmul.h"

/* The buffers of a product. */
typedef struct gr_matmul_ends {
    uint32_t a, b, c;
} gr_matmul_ends;

/* How many matrices a stack of these lengths has. */
uint64_t gr_matmul_count(const uint64_t *stack);

/* A block for each of `tiles` along x, and of these for every matrix along y and z. */
gr_status gr_matmul_spread(gr_step *step, uint64_t tiles, uint64_t matrices, uint32_t threads,
                           gr_error *error);

/* Has a side copied to memory of the program in C order, which takes the place of *buffer; what is taken
   again is copied once. */
gr_status gr_matmul_pack(gr_matmul_side *side, uint64_t rows, uint64_t columns, const uint64_t *stack,
                         size_t item_bytes, uint32_t *buffer, gr_program *program, gr_error *error);

/* Whether the best kernel is the one for a matrix and a vector, and the step of that. */
bool gr_matmul_is_vector(const gr_matmul *self);
gr_status gr_matmul_vector(const gr_matmul *self, gr_dtype dtype, const gr_matmul_ends *ends,
                           gr_program *program, gr_error *error);

#endif
