/* The rows of rungs.def as C data. */
#ifndef GR_REDUCE_LADDER_REGISTRY_H
#define GR_REDUCE_LADDER_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reduce/ops.h"

typedef enum gr_backends { GR_BACKENDS_BOTH, GR_BACKENDS_CUDA } gr_backends;
typedef enum gr_role { GR_ROLE_RUNG, GR_ROLE_SIDE, GR_ROLE_STUDY } gr_role;
typedef enum gr_blocks { GR_BLOCKS_POW2, GR_BLOCKS_WARPS, GR_BLOCKS_NONE } gr_blocks;
typedef enum gr_entry { GR_ENTRY_RUNTIME, GR_ENTRY_TEMPLATE, GR_ENTRY_LIBRARY } gr_entry;
typedef enum gr_grid_rule {
    GR_GRID_PER_BLOCK,
    GR_GRID_FIXED,
    GR_GRID_OCCUPANCY,
    GR_GRID_HALF,
    GR_GRID_NONE
} gr_grid_rule;
typedef enum gr_shared_rule { GR_SHARED_THREAD, GR_SHARED_RING, GR_SHARED_STATIC } gr_shared_rule;
typedef enum gr_output_rule { GR_OUTPUT_PARTIALS, GR_OUTPUT_LAST, GR_OUTPUT_ATOMIC } gr_output_rule;

enum { GR_MIN_BLOCK = 64, GR_MAX_BLOCK = 1024, GR_DEFAULT_BLOCK = 256, GR_KERNEL_NAME_BYTES = 64 };

typedef struct gr_variant {
    const char *name;
    const char *file; /* without ending */
    const char *ladder;
    const char *title;
    const char *technique;
    gr_role role;
    gr_op_set ops;
    gr_backends backends;
    gr_blocks blocks;
    gr_entry entry;
    gr_grid_rule grid;
    gr_shared_rule shared;
    gr_output_rule output;
    uint32_t capability; /* 75 for compute capability 7.5 */
    uint32_t span;
    uint32_t align;   /* bytes that the address of the first element must be a multiple of */
    uint32_t cluster; /* the most blocks of one */
} gr_variant;

extern const gr_variant gr_variants[];
extern const size_t gr_variant_count;

/* "auto" is the fastest rung there is; GR_ERR_VALUE lists the names otherwise. */
gr_status gr_variant_find(const char *name, const gr_variant **out, gr_error *error);

/* Whether it has kernels for the operator on elements of this dtype. */
bool gr_variant_covers(const gr_variant *variant, gr_op op, gr_dtype dtype);
bool gr_variant_takes_block(const gr_variant *variant, int64_t block);
/* 0 where the block size cannot be chosen. */
int64_t gr_variant_default_block(const gr_variant *variant);
/* Whether the result in a floating dtype depends on the order in which blocks finish. */
bool gr_variant_float_atomics(const gr_variant *variant);
/* Whether the number of blocks may be chosen by the caller. */
bool gr_variant_takes_grid(const gr_variant *variant);
/* Writes the name of the kernel, at most GR_KERNEL_NAME_BYTES with its NUL. `of_places`: it reads places of
   elements of `dtype`, not the elements. */
void gr_variant_kernel_name(const gr_variant *variant, gr_op op, gr_dtype dtype, bool of_places,
                            uint32_t block, char *name);

#endif
