/* The ladder of reductions, v0 to v12 and the kernels compared with them: the rows of rungs.def as C data,
   and planning, running and timing one of them. */
#ifndef GR_REDUCE_LADDER_LADDER_H
#define GR_REDUCE_LADDER_LADDER_H

#include "base/limits.h"
#include "program/program.h"
#include "reduce/ops.h"
#include "rungs/rung.h"

/* Values of the columns of rungs.def, which explains them. */
typedef enum gr_blocks { GR_BLOCKS_POW2, GR_BLOCKS_WARPS, GR_BLOCKS_NONE } gr_blocks;
typedef enum gr_grid_rule {
    GR_GRID_PER_BLOCK,
    GR_GRID_FIXED,
    GR_GRID_OCCUPANCY,
    GR_GRID_HALF,
    GR_GRID_NONE
} gr_grid_rule;
typedef enum gr_shared_rule { GR_SHARED_THREAD, GR_SHARED_RING, GR_SHARED_STATIC } gr_shared_rule;
typedef enum gr_output_rule { GR_OUTPUT_PARTIALS, GR_OUTPUT_LAST, GR_OUTPUT_ATOMIC } gr_output_rule;

enum { GR_MIN_BLOCK = 64, GR_MAX_BLOCK = 1024, GR_DEFAULT_BLOCK = 256 };

typedef struct gr_variant {
    gr_rung rung;
    gr_op_set ops;
    gr_blocks blocks;
    gr_grid_rule grid;
    uint32_t span;    /* elements per thread and iteration; 16: one 16-byte load */
    uint32_t align;   /* the address of the first element must be a multiple of this many bytes */
    uint32_t cluster; /* max. blocks per cluster */
    gr_shared_rule shared;
    gr_output_rule output;
} gr_variant;

extern const gr_variant gr_variants[];
extern const gr_ladder gr_reduction_ladder;

/* Whether the variant has kernels for the operator on elements of this dtype. */
bool gr_variant_covers(const gr_variant *variant, gr_op op, gr_dtype dtype);
bool gr_variant_takes_block(const gr_variant *variant, int64_t block);
/* Returns the default block size; 0 if the block size cannot be chosen. */
static inline int64_t gr_variant_default_block(const gr_variant *variant) {
    return variant->blocks == GR_BLOCKS_NONE ? 0 : GR_DEFAULT_BLOCK;
}
/* Whether the caller may choose the number of blocks. */
static inline bool gr_variant_takes_grid(const gr_variant *variant) {
    return variant->grid != GR_GRID_PER_BLOCK && variant->grid != GR_GRID_NONE;
}

/* A reduction of n contiguous elements, the first of which is aligned to variant->align bytes. */
typedef struct gr_request {
    const gr_variant *variant;
    gr_op op;
    gr_dtype dtype;
    uint64_t n;
    int64_t block; /* threads per block; 0: the default; an explicit 0 is GR_EXPLICIT_ZERO */
    int64_t grid;  /* blocks; 0: chosen by the planner; an explicit 0 is GR_EXPLICIT_ZERO */
} gr_request;

/* The program has one input and, as output, one partial result, which gr_op_finish converts to the result.
   It is a pure function of the request and the same for both backends, so the simulator runs what the GPU
   runs. The program of a library's rung lacks the function and its workspace. */
void gr_ladder_plan(const gr_request *request, gr_program *program);

/* Reduces the elements of `source` into `result`, of dtype gr_op_result. */
gr_status gr_ladder_run(gr_device *device, const gr_request *request, const gr_source *source,
                        const gr_interrupt *interrupt, gr_scalar *result, gr_error *error);

/* Times the first pass alone and all passes together, on timing->buffers copies of `data`. Both arrays get
   one figure per repeat, as from gr_program_time. */
gr_status gr_ladder_time(gr_device *device, const gr_request *request, const void *data,
                         const gr_timing *timing, double *first_pass, double *all_passes, gr_error *error);

#endif
