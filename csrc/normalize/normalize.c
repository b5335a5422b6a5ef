/* Planner of normalize.h. The length of a row selects a warp, a block, or tiles of a block's size; a cluster
   of blocks shares the tiles where the device has clusters. The number of rows selects how elements arrive.
 */
#include "normalize/normalize.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "normalize/params.h"

const gr_normalize_row gr_normalize_ops[GR_NORMALIZE_OPS] = {
#define GR_NORMALIZE(name, Functor, weight, bias, residual) {#name, weight, bias, residual},
#include "normalize/ops.def"
#undef GR_NORMALIZE
};

bool gr_normalize_takes(gr_dtype dtype) {
    return gr_dtypes[dtype].kind == GR_KIND_REAL;
}

/* How the elements of a row are divided: a function of length and dtype alone. */
typedef struct division {
    uint32_t threads, vectors; /* per row or tile; 16-byte vectors per thread, a power of two */
    uint64_t tiles;
} division;

static division divide(const gr_normalize *self) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t vectors = gr_ceil_div(self->length, 16 / item);
    const uint64_t block = GR_NORMALIZE_MAX_THREADS * GR_NORMALIZE_VECTORS;
    division found = {.threads = GR_NORMALIZE_MIN_THREADS, .vectors = GR_NORMALIZE_VECTORS, .tiles = 1};
    /* More vectors take less time than more than 256 threads. Those of 16-bit elements need registers for
       twice as many numbers: they are converted for each pass in rows of more small tiles than lanes, and in
       rows of two to four of them for log_softmax, which keeps no exponentials. */
    const bool converts = vectors > block * GR_NORMALIZE_LANES ||
                          (self->op == GR_NORMALIZE_log_softmax && vectors > block && vectors <= 4 * block);
    if (item == 2 ? converts : vectors > block / 2)
        found.vectors = GR_NORMALIZE_MAX_VECTORS;
    while (found.threads < GR_NORMALIZE_MAX_THREADS && found.threads * found.vectors < vectors)
        found.threads *= 2;
    found.tiles = gr_ceil_div(vectors, (uint64_t)found.threads * found.vectors);
    return found;
}

/* Relocates an optional input; the kernel also writes the residual. */
static void relocate(gr_program *program, uint32_t number, size_t offset) {
    if (number != 0)
        gr_program_relocate(program, offset, gr_program_input(program, number));
}

typedef enum kernel_kind {
    ROWS,      /* rows of one tile */
    TILES,     /* a block has all tiles of a row */
    CLUSTERS,  /* a cluster of blocks has them */
    PIPELINED, /* rows of one tile; shared memory has the next rows of a block */
    RESIDENT,  /* a cluster has all tiles of a row in registers and shared memory */
} kernel_kind;

/* How a request is launched. No choice changes bits. */
typedef struct choice {
    kernel_kind kind;
    uint32_t blocks;   /* per row */
    uint64_t max_rows; /* rows that have blocks at once */
    uint32_t stages;   /* rows or tiles of a block in shared memory */
    uint32_t stage_bytes;
    uint32_t staged_parameters; /* a weight and a bias in shared memory: how many */
} choice;

static bool is_norm(const gr_normalize *self) {
    return gr_normalize_ops[self->op].weight;
}

static bool is_narrow(const gr_normalize *self) {
    return gr_dtypes[self->dtype].item_bytes == 2;
}

/* Whether 16-bit elements are kept as they were loaded, and converted for each pass. */
static bool converts_each_pass(const gr_normalize *self, const division *of) {
    return is_narrow(self) && of->vectors != GR_NORMALIZE_VECTORS;
}

/* Blocks that the reference device holds at once. */
static uint64_t resident_blocks(const division *of) {
    return (uint64_t)gr_reference_device.multiprocessors * GR_NORMALIZE_SM_THREADS / of->threads;
}

/* Whether the kernels of staged.cuh take the rows. */
static bool can_stage(const gr_normalize *self, const gr_device_caps *caps) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    return caps->clusters && caps->shared_per_block >= GR_REFERENCE_SHARED && self->aligned &&
           self->residual == 0 && self->inner == 1 && self->along_stride == item &&
           self->length * (uint64_t)item % 16 == 0 && self->line_stride % 16 == 0;
}

/* Bytes of dynamic shared memory of a block, so that as many are resident as by their registers: the device
   reserves 1 KB of each, and static variables take less than that. */
static uint64_t shared_budget(const division *of) {
    return (uint64_t)GR_REFERENCE_SHARED * of->threads / GR_NORMALIZE_SM_THREADS - 2048;
}

/* Whether the next rows of a block are brought ahead. It pays while the L2 cache has the elements and the
   results: H200, 1,024 rows of 4,096 float32, 9.9 us instead of 11.4. Beyond, reads and writes alternate,
   which takes the memory longer: 32,768 rows, 289 us instead of 275. Blocks of 512 threads, of which two are
   resident, wait longer for each other: 4,096 rows of 16,384 bfloat16, 79 us instead of 92. */
static bool pays_pipeline(const gr_normalize *self, const division *of, const choice *by) {
    const uint64_t rows = self->lines * self->inner;
    const uint64_t megabytes = rows * self->length * gr_dtypes[self->dtype].item_bytes >> 20;
    const bool large = of->threads == GR_NORMALIZE_MAX_THREADS;
    if (of->threads < 128 || 2 * rows < 3 * by->max_rows)
        return false;
    return (large && is_narrow(self)) || megabytes <= (large || is_norm(self) ? 32 : 16);
}

static void plan_pipeline(const gr_normalize *self, const division *of, choice *to) {
    const uint64_t rows = self->lines * self->inner;
    const uint64_t slots = shared_budget(of) / to->stage_bytes;
    const uint32_t parameters = (self->weight != 0 ? 1u : 0) + (self->bias != 0 ? 1u : 0);
    /* A weight of few rows arrives while they do: H200, 256 rows of 4,096 bfloat16, 3.4 us instead of 3.6. */
    const bool few = rows <= to->max_rows && is_narrow(self) && parameters == 1 && self->bias == 0;
    if (!(few && slots >= 2) && !pays_pipeline(self, of, to))
        return;
    to->kind = PIPELINED;
    to->staged_parameters = slots > parameters ? parameters : 0;
    to->stages = few ? 1 : (uint32_t)gr_min(slots - to->staged_parameters, 2);
}

/* Long rows: blocks have one tile each, or two of them, of which more are in flight then, or four. Figures of
   an H200 are in docs/benchmarks/softmax-and-norms.md. */
static void plan_resident(const gr_normalize *self, const division *of, choice *to) {
    const uint64_t rows = self->lines * self->inner, tiles = rows * of->tiles;
    const uint64_t blocks = resident_blocks(of);
    const uint32_t lanes = to->blocks;
    const bool four = is_narrow(self) && lanes > 2 && 2 * rows * gr_ceil_div(lanes, 4) >= 3 * blocks;
    const bool two = is_norm(self) ? tiles >= 256 : !is_narrow(self) && tiles > 2 * blocks;
    if (of->tiles > GR_NORMALIZE_LANES || converts_each_pass(self, of) || !(two || four))
        return;
    to->kind = RESIDENT;
    to->blocks = (uint32_t)gr_ceil_div(lanes, four ? 4 : 2);
    to->stages = (uint32_t)gr_ceil_div(lanes, to->blocks) - 1;
}

static choice choose(const gr_normalize *self, const division *of, const gr_device_caps *caps) {
    const uint64_t blocks = resident_blocks(of);
    choice by = {.kind = of->tiles > 1 || converts_each_pass(self, of) ? TILES : ROWS,
                 .blocks = 1,
                 .max_rows = blocks,
                 .stage_bytes = of->threads * of->vectors * 16};
    if (of->tiles > 1 && caps->clusters) {
        by.kind = CLUSTERS;
        by.blocks = (uint32_t)gr_min(of->tiles, GR_NORMALIZE_LANES);
        by.max_rows = blocks / by.blocks;
    }
    if (can_stage(self, caps)) {
        if (by.kind == CLUSTERS)
            plan_resident(self, of, &by);
        else if (by.kind == ROWS && of->threads > 32)
            plan_pipeline(self, of, &by);
    }
    return by;
}

static void name_kernel(const gr_normalize *self, const division *of, kernel_kind kind, gr_step *step) {
    static const char *const files[] = {"", "", "cluster_", "staged_", "staged_"};
    static const char *const entries[] = {"row_", "tiles_", "cluster_", "pipelined_", "resident_"};
    const char *name = gr_normalize_ops[self->op].name, *dtype = gr_dtypes[self->dtype].name;
    const char vectors[] = {(char)('0' + of->vectors), '\0'};
    step->kernel.owner = name;
    GR_KERNEL_NAME(step->kernel.file, files[kind], name);
    GR_KERNEL_NAME(step->kernel.entry, entries[kind], name, "_", dtype, "_v", vectors);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_normalize *self = request;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    const division of = divide(self);
    const choice by = choose(self, &of, &device->backend->info.caps);
    const uint64_t rows = self->lines * self->inner;
    /* Five eighths of the blocks that a device holds at once: more and fewer take longer on an H200. */
    const uint64_t ahead =
        (uint64_t)gr_reference_device.multiprocessors * GR_NORMALIZE_SM_THREADS / of.threads * 5 / 8;
    const gr_normalize_params params = {
        .rows = rows,
        .length = self->length,
        .inner = self->inner,
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .eps = self->eps,
        .lanes = (uint32_t)gr_min(of.tiles, GR_NORMALIZE_LANES),
        .ahead = (uint32_t)(ahead / by.blocks),
        .early = rows <= by.max_rows,
        .stages = by.stages,
        .staged_parameters = by.staged_parameters,
    };
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out =
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)(rows * self->length) * (size_t)item);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    const uint32_t block_rows = of.threads <= 32 ? GR_NORMALIZE_ROW_BLOCK / of.threads : 1;
    const uint64_t max_rows = by.kind == PIPELINED ? by.max_rows : GR_NORMALIZE_MAX_GRID / GR_NORMALIZE_LANES;
    step->block[0] = of.threads;
    step->block[1] = block_rows;
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(rows, block_rows), max_rows) * by.blocks;
    if (by.kind == CLUSTERS || by.kind == RESIDENT)
        step->cluster[0] = by.blocks;
    step->shared_bytes = by.stage_bytes * (by.stages + by.staged_parameters);
    step->pdl = true;
    name_kernel(self, &of, by.kind, step);
    gr_program_relocate(program, offsetof(gr_normalize_params, in), in);
    gr_program_relocate(program, offsetof(gr_normalize_params, out), out);
    relocate(program, self->weight, offsetof(gr_normalize_params, weight));
    relocate(program, self->bias, offsetof(gr_normalize_params, bias));
    relocate(program, self->residual, offsetof(gr_normalize_params, residual));
}

gr_status gr_normalize_run(gr_device *device, const gr_normalize *self, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
