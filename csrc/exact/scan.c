/* Planner of exact cumulative sums: cuts columns into pieces, and launches kernels that sum the pieces, add
   the sums before each piece, and round the sums of all elements. */
#include <stddef.h>

#include "base/limits.h"
#include "exact/exact.h"

enum {
    /* Pieces of all columns, above which pieces have more elements: a thread each. Fewer pieces have fewer
       states to write and add. 2^24 elements on an H200, with 2^17 pieces and these: float32 706 and 629 us,
       float64 1,350 and 774, bfloat16 657 and 651. */
    PIECES = 1 << 15,
    NARROW_PIECES = 1 << 16, /* of elements of 2 bytes */
    CHUNK_ROUNDS = 8,        /* pieces of a thread that adds states, unless a column has more chunks */
    MAX_CHUNKS = 128,        /* per column */
    MIN_PIECE = 32,          /* elements of 4 bytes or less, whose state has the size of as many */
    MIN_WIDE_PIECE = 64,
};

/* Properties of a dtype of elements. */
typedef struct kind {
    const char *name;
    uint32_t item_bytes, components;
} kind;

static const kind kinds[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f32] = {"f32", 4, 1},   [GR_DTYPE_f64] = {"f64", 8, 1}, [GR_DTYPE_f16] = {"f16", 2, 1},
    [GR_DTYPE_bf16] = {"bf16", 2, 1}, [GR_DTYPE_c64] = {"f32", 4, 2}, [GR_DTYPE_c128] = {"f64", 8, 2},
};

bool gr_exact_scan_takes(gr_dtype dtype) {
    return kinds[dtype].components > 0;
}

static gr_exact_scan_params params_of(const gr_scan *self, const kind *of) {
    const bool is_wide = of->item_bytes == 8;
    const int64_t item = of->item_bytes;
    gr_exact_scan_params params = {
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner * of->components,
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .words = is_wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
        .components = of->components,
        .initial = self->initial ? 1 : 0,
    };
    const uint64_t columns = params.lines * params.inner;
    const uint64_t max_pieces = of->item_bytes == 2 ? NARROW_PIECES : PIECES;
    params.piece =
        gr_max(gr_ceil_div(columns * self->length, max_pieces), is_wide ? MIN_WIDE_PIECE : MIN_PIECE);
    params.pieces = gr_ceil_div(self->length, params.piece);
    const uint64_t chunk = CHUNK_ROUNDS * (GR_EXACT_PREFIX_THREADS / params.words);
    params.chunks = gr_min(gr_ceil_div(params.pieces, chunk), MAX_CHUNKS);
    return params;
}

/* Appends a launch of a kernel of one file, with relocations of the elements, the states and the results. */
static void add_launch(const gr_scan *self, gr_program *program, const gr_exact_scan_params *params,
                       const char *entry, const char *dtype, uint64_t threads, uint32_t block,
                       const uint32_t buffers[4]) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(threads, block), GR_MAX_GRID);
    step->block[0] = block;
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "exact_scan");
    GR_KERNEL_NAME(step->kernel.entry, entry, dtype);
    gr_program_relocate(program, offsetof(gr_exact_scan_params, in), buffers[0]);
    gr_program_relocate(program, offsetof(gr_exact_scan_params, out), buffers[1]);
    if (params->pieces > 1)
        gr_program_relocate(program, offsetof(gr_exact_scan_params, states), buffers[2]);
    if (params->chunks > 1)
        gr_program_relocate(program, offsetof(gr_exact_scan_params, totals), buffers[3]);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const gr_scan *self = request;
    const kind *of = &kinds[self->dtype];
    const gr_exact_scan_params params = params_of(self, of);
    const uint64_t columns = params.lines * params.inner, pieces = columns * params.pieces;
    const uint64_t rows = self->length + params.initial;
    uint32_t buffers[4] = {gr_program_input(program, 0)};
    buffers[1] = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)(columns * rows) * of->item_bytes);
    if (params.pieces > 1) {
        buffers[2] =
            gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)pieces * params.words * sizeof(int64_t));
        const uint64_t chunks = columns * params.chunks;
        const uint32_t block = GR_EXACT_PREFIX_THREADS / params.words * params.words;
        if (params.chunks > 1)
            buffers[3] = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                           (size_t)chunks * params.words * sizeof(int64_t));
        add_launch(self, program, &params, "exact_pieces_", of->name, pieces, GR_EXACT_SCAN_THREADS, buffers);
        if (params.chunks > 1)
            add_launch(self, program, &params, "exact_totals", "", chunks * block, block, buffers);
        add_launch(self, program, &params, "exact_prefix", "", chunks * block, block, buffers);
    }
    add_launch(self, program, &params, "exact_scan_", of->name, pieces, GR_EXACT_SCAN_THREADS, buffers);
}

gr_status gr_exact_scan_run(gr_device *device, const gr_scan *scan, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, scan, binding, interrupt, error);
}
