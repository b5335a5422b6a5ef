/* What the planners of this room share. */
#ifndef GR_MATMUL_PLAN_H
#define GR_MATMUL_PLAN_H

#include "matmul/matmul.h"

/* The buffers of a product. */
typedef struct gr_matmul_ends {
    uint32_t a, b, c;
} gr_matmul_ends;

/* The tile of C that a block makes, its threads, and the blocks that share k. */
typedef struct gr_matmul_tiling {
    uint32_t rows, columns, threads, parts;
} gr_matmul_tiling;

/* The one of tiles.def that takes least, and how many parts. */
gr_matmul_tiling gr_matmul_tile(const gr_matmul *self, const gr_matmul_variant *variant);

/* How many matrices a stack of these lengths has. */
uint64_t gr_matmul_count(const uint64_t *stack);

/* A block for each of `tiles` along x, and of these for every matrix along y and z. */
gr_status gr_matmul_spread(gr_step *step, uint64_t tiles, uint64_t matrices, uint32_t threads,
                           gr_error *error);

/* Has a side copied to memory of the program, which takes the place of *buffer, `pitch` elements from one row
   to the next; what is taken again is copied once. */
typedef struct gr_matmul_shape {
    uint64_t rows, columns, pitch;
} gr_matmul_shape;

gr_status gr_matmul_pack(gr_matmul_side *side, const gr_matmul_shape *shape, const uint64_t *stack,
                         size_t item_bytes, uint32_t *buffer, gr_program *program, gr_error *error);

/* The entry of a rung; NULL: the kernel of the dtypes that have none. What follows the dtype in its name. */
void gr_matmul_name(const gr_matmul_variant *variant, gr_dtype dtype, const char *form, gr_kernel_id *out);

/* Whether tensor maps can describe a side as it lies, or the kernels that part float32 can read it, how far
   apart the rows of a copy must be for that, and the product of sides that they can. */
bool gr_matmul_maps_take(const gr_matmul_side *side, uint64_t columns, size_t item_bytes);
bool gr_matmul_parts_take(const gr_matmul_side *side, uint64_t columns);
uint64_t gr_matmul_maps_pitch(uint64_t columns, size_t item_bytes);
gr_status gr_matmul_maps_multiply(const gr_matmul *self, const gr_matmul_side *a, const gr_matmul_side *b,
                                  const gr_matmul_variant *variant, const gr_matmul_ends *ends,
                                  gr_program *program, gr_error *error);

/* Whether the best kernel is the one for a matrix and a vector, and the step of that. */
bool gr_matmul_is_vector(const gr_matmul *self);
gr_status gr_matmul_vector(const gr_matmul *self, gr_dtype dtype, const gr_matmul_ends *ends,
                           gr_program *program, gr_error *error);

#endif
