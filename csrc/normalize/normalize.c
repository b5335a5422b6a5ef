/* Planner of normalize.h. The length of a row selects a warp, a block, or tiles of a block's size; a cluster
   of blocks shares the tiles where the device has clusters. */
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
    bool tiled; /* has the kernels of tiles: for one tile as well if these hold more of a row */
} division;

static division divide(const gr_normalize *self) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t vectors = gr_ceil_div(self->length, 16 / item);
    division found = {.threads = GR_NORMALIZE_MIN_THREADS, .vectors = GR_NORMALIZE_VECTORS, .tiles = 1};
    /* More vectors take less time than more than 256 threads, but those of 16-bit elements need registers for
       twice as many numbers. */
    const uint64_t most =
        (item == 2 ? GR_NORMALIZE_MAX_THREADS : GR_NORMALIZE_MAX_THREADS / 2) * GR_NORMALIZE_VECTORS;
    if (vectors > most)
        found.vectors = GR_NORMALIZE_MAX_VECTORS;
    while (found.threads < GR_NORMALIZE_MAX_THREADS && found.threads * found.vectors < vectors)
        found.threads *= 2;
    found.tiles = gr_ceil_div(vectors, (uint64_t)found.threads * found.vectors);
    found.tiled = found.tiles > 1 || (item == 2 && found.vectors == GR_NORMALIZE_MAX_VECTORS);
    return found;
}

/* Relocates an optional input; the kernel also writes the residual. */
static void relocate(gr_program *program, uint32_t number, size_t offset) {
    if (number != 0)
        gr_program_relocate(program, offset, gr_program_input(program, number));
}

static void name_kernel(const gr_normalize *self, const division *of, bool clusters, gr_step *step) {
    const char *name = gr_normalize_ops[self->op].name, *dtype = gr_dtypes[self->dtype].name;
    const char vectors[] = {(char)('0' + of->vectors), '\0'};
    step->kernel.owner = name;
    GR_KERNEL_NAME(step->kernel.file, clusters ? "cluster_" : "", name);
    if (of->tiled)
        GR_KERNEL_NAME(step->kernel.entry, clusters ? "cluster_" : "tiles_", name, "_", dtype);
    else
        GR_KERNEL_NAME(step->kernel.entry, "row_", name, "_", dtype, "_v", vectors);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_normalize *self = request;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    const division of = divide(self);
    const bool clusters = of.tiles > 1 && device->backend->info.caps.clusters;
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
        .ahead = (uint32_t)(ahead / (clusters ? gr_min(of.tiles, GR_NORMALIZE_LANES) : 1)),
    };
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out =
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)(rows * self->length) * (size_t)item);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    const uint32_t block_rows = of.threads <= 32 ? GR_NORMALIZE_ROW_BLOCK / of.threads : 1;
    const uint32_t row_blocks = clusters ? params.lanes : 1;
    step->block[0] = of.threads;
    step->block[1] = block_rows;
    step->grid[0] =
        (uint32_t)gr_min(gr_ceil_div(rows, block_rows), GR_NORMALIZE_MAX_GRID / GR_NORMALIZE_LANES) *
        row_blocks;
    if (clusters)
        step->cluster[0] = row_blocks;
    step->pdl = true;
    name_kernel(self, &of, clusters, step);
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
