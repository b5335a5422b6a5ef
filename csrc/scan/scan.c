/* Planner of scans: picks the kernel of short lines, the single-wave, the persistent, the column or the tiled
   look-back kernel, and splits lines into tiles and threads. */
#include "scan/scan.h"

#include <stddef.h>

#include "base/limits.h"
#include "base/powers.h"
#include "executor/executor.h"
#include "scan/params.h"

_Static_assert(sizeof(gr_one_wave_scan_params) <= GR_MAX_PATCHED_PARAMS,
               "a backend writes `first` in a copy of them");

const char *const gr_scan_names[GR_SCAN_OPS] = {"cumulative_sum", "cumulative_prod", "cummax", "cummin"};
static const char *const kernels[GR_SCAN_OPS] = {"sum", "prod", "max", "min"};

static bool is_extreme(gr_scan_op op) {
    return op == GR_SCAN_MAX || op == GR_SCAN_MIN;
}

gr_dtype gr_scan_result(gr_scan_op op, gr_dtype dtype) {
    return is_extreme(op) ? dtype : gr_dtypes[dtype].sum;
}

static size_t result_bytes(const gr_scan *self) {
    return gr_dtypes[gr_scan_result(self->op, self->dtype)].item_bytes;
}

uint64_t gr_lookback_nodes(uint64_t tiles) {
    enum { SHIFT = 5 }; /* 32 nodes have one parent */
    uint64_t nodes = 0;
    for (uint64_t level = tiles;; level >>= SHIFT) {
        nodes += level + 1;
        if (level == 0)
            return nodes;
    }
}

/* Properties of the kernels for a dtype of results. */
typedef struct kind {
    const char *name;
    uint32_t node_bytes, each, columns;
    bool ordered; /* the order of elements counts */
    uint32_t persistent_stages, persistent_blocks_per_sm;
} kind;

static kind kind_of(const gr_scan *self) {
    const gr_dtype result = gr_scan_result(self->op, self->dtype);
    gr_dtype kernel = result;
    if (is_extreme(self->op))
        kernel = result == GR_DTYPE_b8 ? GR_DTYPE_u8 : result;
    else if (result == GR_DTYPE_u64)
        kernel = GR_DTYPE_i64; /* sums have the same bits */
    const bool pair = gr_dtype_is_complex(result);
    return (kind){
        .name = gr_dtypes[kernel].name,
        .node_bytes = pair ? 32 : 16,
        .ordered = !is_extreme(self->op) && gr_dtypes[result].kind != GR_KIND_BITS,
        .columns = pair ? GR_SCAN_MAX_COLUMNS / 2 : GR_SCAN_MAX_COLUMNS,
        .each = gr_dtypes[result].item_bytes < 16 ? GR_SCAN_ROWS_PER_THREAD : GR_SCAN_ROWS_PER_THREAD / 2,
        .persistent_stages = pair ? GR_PERSISTENT_PAIR_STAGES : GR_PERSISTENT_STAGES,
        .persistent_blocks_per_sm = pair ? GR_PERSISTENT_PAIR_BLOCKS_PER_SM : GR_PERSISTENT_BLOCKS_PER_SM};
}

static const gr_scan_kind load_kinds[GR_DTYPE_COUNT] = {
    [GR_DTYPE_b8] = GR_SCAN_B8,   [GR_DTYPE_i8] = GR_SCAN_I8, [GR_DTYPE_i16] = GR_SCAN_I16,
    [GR_DTYPE_i32] = GR_SCAN_I32, [GR_DTYPE_u8] = GR_SCAN_U8, [GR_DTYPE_u16] = GR_SCAN_U16,
    [GR_DTYPE_u32] = GR_SCAN_U32};

/* The exponent of the least power of two that is at least min_value, at most that of max_value, which is a
   power of two. */
static uint32_t shift_for(uint64_t min_value, uint32_t max_value) {
    return gr_log2_from(min_value, gr_log2(max_value));
}

/* Splits a tile between the threads of a block: neighbouring threads have neighbouring columns, for
   coalesced loads. Up to of->columns columns if the tiles of a line are a chain, up to a block if lines are
   so short that few threads share one. */
static void share(gr_scan_params *params, const kind *of) {
    enum { SECTION_BANDS = 32 };
    const uint32_t max_rows = of->each;
    const uint64_t shares = gr_ceil_div(params->length, max_rows);
    if (params->inner <= of->columns) {
        params->columns_shift = shift_for(params->inner, of->columns);
        params->groups_shift = shift_for(shares, GR_SCAN_THREADS >> params->columns_shift);
    } else {
        params->groups_shift = shift_for(shares, GR_SCAN_THREADS / of->columns);
        params->columns_shift = shift_for(params->inner, GR_SCAN_THREADS >> params->groups_shift);
    }
    params->stripes = gr_ceil_div(params->inner, 1u << params->columns_shift);
    params->width = (uint32_t)gr_ceil_div(params->inner, params->stripes);
    params->stripes = gr_ceil_div(params->inner, params->width);
    params->chain_tiles = 1;

    const uint32_t groups = 1u << params->groups_shift;
    const uint32_t slots = GR_SCAN_THREADS >> (params->groups_shift + params->columns_shift);
    if (params->length > (uint64_t)groups * max_rows) {
        params->tile_lines = 1;
        params->each = max_rows;
        params->slot = params->line_rows = groups * max_rows;
        params->chain_tiles = gr_ceil_div(params->length, params->slot);
    } else {
        const uint32_t length = (uint32_t)params->length, lines = groups == 1 ? max_rows / length : 1;
        params->tile_lines = slots * lines;
        params->slot = lines * length;
        /* Runs of a band have as many rows each; those of several bands have what they have in a chain. */
        params->each =
            of->ordered && groups > GR_SCAN_BAND_RUNS ? max_rows : (params->slot + groups - 1) / groups;
        params->line_rows = groups == 1 ? length : max_rows;
    }
    params->chain_nodes = gr_lookback_nodes(params->chain_tiles);
    if (of->ordered && params->chain_tiles > 1) {
        const uint64_t bands = groups / GR_SCAN_BAND_RUNS;
        params->section_nodes = gr_lookback_nodes(gr_ceil_div(params->chain_tiles * bands, SECTION_BANDS));
        params->chain_nodes =
            params->section_nodes + (bands < SECTION_BANDS ? params->chain_tiles * bands : 0);
    }
    params->chains = gr_ceil_div(params->lines, params->tile_lines) * params->stripes;
}

static gr_scan_params params_of(const gr_scan *self, const kind *of) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    gr_scan_params params = {
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner,
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .kind = is_extreme(self->op) ? GR_SCAN_AS_RESULT : load_kinds[self->dtype],
    };
    share(&params, of);
    const int64_t inner = (int64_t)self->inner, line = inner * (int64_t)self->length;
    const bool whole = params.stripes == 1, packed = (inner == 1 || params.inner_stride == 1) &&
                                                     (self->length == 1 || params.along_stride == inner);
    if (whole && packed && (params.tile_lines == 1 || self->lines == 1 || params.line_stride == line))
        params.flags |= GR_SCAN_LINEAR_IN;
    if (whole && (params.tile_lines == 1 || !self->initial))
        params.flags |= GR_SCAN_LINEAR_OUT;
    if (self->initial)
        params.flags |= GR_SCAN_INITIAL;
    return params;
}

/* Whether lines are contiguous and of a dtype that the persistent and single-wave kernels load. */
static bool has_contiguous_lines(const gr_scan *self, const gr_scan_params *params) {
    return self->inner == 1 &&
           (self->length <= 1 || self->along_stride == (int64_t)gr_dtypes[self->dtype].item_bytes) &&
           (params->kind == GR_SCAN_AS_RESULT || params->kind == GR_SCAN_I32 || params->kind == GR_SCAN_B8);
}

static const char *name_of(const gr_scan *self, const kind *of) {
    return self->dtype == GR_DTYPE_i32 || self->dtype == GR_DTYPE_b8 ? gr_dtypes[self->dtype].name : of->name;
}

static uint32_t add_output(const gr_scan *self, gr_program *program) {
    const uint64_t rows = self->length + (self->initial ? 1 : 0);
    return gr_program_buffer(program, GR_BUFFER_OUTPUT,
                             (size_t)(self->lines * rows * self->inner) * result_bytes(self));
}

/* 16-byte vectors that hold the results of a line. */
static uint64_t line_vectors(const gr_scan *self) {
    return gr_ceil_div(self->length, GR_SCAN_VECTOR_BYTES / gr_dtypes[gr_dtypes[self->dtype].sum].item_bytes);
}

/* Lines that one block holds. Which lines these are follows from their length alone, as the order of their
   elements does. */
static bool plan_short(const gr_scan *self, const kind *of, gr_program *program) {
    enum { WARP = 32, WARP_VECTORS = WARP * GR_SHORT_VECTORS, FEW_ROWS = 1 << 13 };
    const uint64_t vectors = line_vectors(self);
    const uint64_t line_warps = vectors <= WARP ? 0 : gr_ceil_div(vectors, WARP_VECTORS);
    if (line_warps > GR_SHORT_LINE_WARPS || self->length > GR_SHORT_LINE)
        return false;
    gr_short_scan_params params = {
        .lines = self->lines,
        .length = self->length,
        .line_stride = self->line_stride / (int64_t)gr_dtypes[self->dtype].item_bytes,
        .line_warps = (uint32_t)line_warps,
        .lanes_shift = shift_for(vectors, WARP),
        .rows = GR_SHORT_VECTORS,
        .initial = self->initial ? 1 : 0,
    };
    uint64_t blocks, warps;
    if (line_warps == 0) {
        const uint64_t rows = gr_ceil_div(self->lines, WARP >> params.lanes_shift);
        params.rows = rows < FEW_ROWS ? 1 : GR_SHORT_VECTORS;
        warps = rows < gr_reference_device.multiprocessors ? 1 : GR_SHORT_WARPS;
        blocks = gr_ceil_div(rows, warps * params.rows);
    } else {
        params.block_lines = (uint32_t)gr_min(self->lines, gr_max(1, GR_SHORT_WARPS / line_warps));
        warps = line_warps * params.block_lines;
        blocks = gr_ceil_div(self->lines, params.block_lines);
    }
    if (blocks > GR_MAX_GRID)
        return false;
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = add_output(self, program);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = (uint32_t)warps * WARP;
    step->pdl = true;
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "line_", kernels[self->op]);
    GR_KERNEL_NAME(step->kernel.entry, "short_", kernels[self->op], "_", name_of(self, of));
    gr_program_relocate(program, offsetof(gr_short_scan_params, in), in);
    gr_program_relocate(program, offsetof(gr_short_scan_params, out), out);
    return true;
}

/* Threads per block of the single-wave kernels, and blocks per line; 0 if the lines need too many blocks or
   nodes. No bit of a result depends on them. */
static uint32_t one_wave_threads(const gr_scan *self, const kind *of, uint64_t *blocks) {
    const uint64_t max_blocks = of->node_bytes > 16 ? GR_ONE_WAVE_PAIR_LINE_BLOCKS : GR_ONE_WAVE_LINE_BLOCKS;
    const uint64_t vectors = line_vectors(self);
    if (vectors > (uint64_t)GR_ONE_WAVE_LINE_TILES * GR_PERSISTENT_THREADS * GR_PERSISTENT_VECTORS)
        return 0;
    for (uint32_t threads = GR_ONE_WAVE_MIN_THREADS; threads <= GR_ONE_WAVE_MAX_THREADS; threads *= 2) {
        *blocks = gr_ceil_div(vectors, threads * GR_PERSISTENT_VECTORS);
        if (*blocks <= max_blocks && self->lines <= GR_ONE_WAVE_GRID / *blocks &&
            self->lines * (*blocks * (*blocks - 1) / 2) * of->node_bytes <= GR_SCAN_MAX_ZEROED)
            return threads;
    }
    return 0;
}

static void plan_one_wave(const gr_scan *self, const kind *of, uint32_t threads, uint64_t blocks,
                          gr_program *program) {
    const gr_one_wave_scan_params params = {
        .length = self->length,
        .line_stride = self->line_stride / (int64_t)gr_dtypes[self->dtype].item_bytes,
        .blocks = (uint32_t)blocks,
        .initial = self->initial ? 1 : 0,
    };
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = add_output(self, program);
    uint32_t slots = 0;
    if (blocks > 1)
        slots = gr_program_buffer(program, GR_BUFFER_ZEROED,
                                  (size_t)(self->lines * (blocks * (blocks - 1) / 2) * of->node_bytes));
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)(self->lines * blocks);
    step->block[0] = threads;
    step->shared_bytes = threads * GR_PERSISTENT_VECTORS * GR_SCAN_VECTOR_BYTES;
    step->pdl = true;
    step->first_block_offset = blocks > 1 ? offsetof(gr_one_wave_scan_params, first) : 0;
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "line_", kernels[self->op]);
    GR_KERNEL_NAME(step->kernel.entry, "brief_", kernels[self->op], "_", name_of(self, of));
    gr_program_relocate(program, offsetof(gr_one_wave_scan_params, in), in);
    gr_program_relocate(program, offsetof(gr_one_wave_scan_params, out), out);
    if (blocks > 1)
        gr_program_relocate(program, offsetof(gr_one_wave_scan_params, slots), slots);
}

/* Bytes of shared memory per block of the persistent kernels: the tiles of all pipeline stages, each with a
   State per thread. */
static uint32_t persistent_shared_bytes(const kind *of) {
    return of->persistent_stages * (GR_PERSISTENT_TILE_BYTES + GR_PERSISTENT_THREADS * of->node_bytes / 2);
}

/* Whether lines are contiguous and long enough for the persistent kernels, and the device has their shared
   memory. */
static bool is_persistent(const gr_scan *self, const kind *of, const gr_scan_params *params,
                          const gr_device_caps *caps) {
    return caps->capability >= GR_HOPPER && caps->shared_per_block >= persistent_shared_bytes(of) &&
           has_contiguous_lines(self, params);
}

static void plan_persistent(const gr_scan *self, const kind *of, gr_program *program) {
    const gr_dtype result = gr_dtypes[self->dtype].sum;
    const size_t item = gr_dtypes[result].item_bytes;
    const uint64_t line_tiles = gr_ceil_div(self->length, GR_PERSISTENT_TILE_BYTES / item);
    const uint64_t max_blocks = (uint64_t)gr_reference_device.multiprocessors * of->persistent_blocks_per_sm;
    gr_persistent_scan_params params = {
        .length = self->length,
        .line_stride = self->line_stride / (int64_t)gr_dtypes[self->dtype].item_bytes,
        .tiles = self->lines * line_tiles,
        .line_tiles = line_tiles,
        .line_nodes = 2 * line_tiles + gr_ceil_div(line_tiles, GR_PERSISTENT_CHUNK),
        .initial = self->initial ? 1 : 0,
    };
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = add_output(self, program);
    const size_t node_bytes = GR_NODES_OFFSET + (size_t)(self->lines * params.line_nodes) * of->node_bytes;
    const bool few =
        node_bytes <= GR_SCAN_MAX_ZEROED; /* fits zero-initialised workspace: no memset is needed */
    params.zeroes_nodes = few;
    const uint32_t nodes =
        gr_program_buffer(program, few ? GR_BUFFER_ZEROED : GR_BUFFER_TEMPORARY, node_bytes);
    if (!few)
        gr_program_clear(program, nodes);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)(params.tiles < max_blocks ? params.tiles : max_blocks);
    step->block[0] = GR_PERSISTENT_BLOCK_THREADS;
    step->pdl = few;
    step->shared_bytes = persistent_shared_bytes(of);
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "line_", kernels[self->op]);
    GR_KERNEL_NAME(step->kernel.entry, "line_", kernels[self->op], "_", name_of(self, of));
    gr_program_relocate(program, offsetof(gr_persistent_scan_params, in), in);
    gr_program_relocate(program, offsetof(gr_persistent_scan_params, out), out);
    gr_program_relocate(program, offsetof(gr_persistent_scan_params, nodes), nodes);
}

/* Whether elements and results are multiples of `each` elements apart, so that a thread can load as many at
 * once. */
static bool has_vector_rows(const gr_column_scan_params *params, uint32_t each) {
    const int64_t elements = (int64_t)each;
    return params->inner_stride == 1 && params->inner % each == 0 && params->along_stride % elements == 0 &&
           (params->lines == 1 || params->line_stride % elements == 0);
}

/* Sets the columns per thread: one if threads would be idle. Returns whether they have the kernel of short
   columns, which takes floats, and halves that are no vectors. */
static bool share_columns(const gr_scan *self, gr_column_scan_params *params) {
    const size_t item = result_bytes(self);
    const uint64_t all = self->inner * self->lines;
    const uint32_t vector = (uint32_t)(GR_COLUMN_SCAN_BYTES / item);
    params->each = self->inner / vector * self->lines >= GR_COLUMN_SCAN_MIN_THREADS ? vector : 1;
    params->vectors = params->each > 1 && has_vector_rows(params, params->each);
    const bool is_short =
        self->length <= GR_COLUMN_SCAN_SHORT && item <= 4 && !(item == 2 && params->vectors);
    if (is_short)
        params->each = all / GR_COLUMN_SCAN_APART >= GR_COLUMN_SCAN_MIN_THREADS ? GR_COLUMN_SCAN_APART : 1;
    params->line_threads = gr_ceil_div(self->inner, params->each);
    return is_short;
}

/* A short axis with many columns, or with few of them in all: tiles of few columns are read faster. Returns
   false if there are too many threads for a grid. */
static bool plan_columns(const gr_scan *self, const kind *of, const gr_scan_params *scan,
                         gr_program *program) {
    const bool few = self->inner <= of->columns;
    if (self->length > (few ? GR_COLUMN_SCAN_SHORT : GR_COLUMN_SCAN_LENGTH) ||
        (few && self->lines * self->inner > GR_COLUMN_SCAN_FEW))
        return false;
    gr_column_scan_params params = {
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner,
        .line_stride = scan->line_stride,
        .along_stride = scan->along_stride,
        .inner_stride = scan->inner_stride,
        .kind = scan->kind,
        .initial = self->initial ? 1 : 0,
        .run = of->ordered ? scan->each : (uint32_t)self->length,
    };
    const bool is_short = share_columns(self, &params);
    const uint64_t blocks = gr_ceil_div(self->lines * params.line_threads, GR_COLUMN_SCAN_THREADS);
    if (blocks > GR_MAX_GRID)
        return false;
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = add_output(self, program);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = GR_COLUMN_SCAN_THREADS;
    step->pdl = true;
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "scan_", kernels[self->op]);
    GR_KERNEL_NAME(step->kernel.entry, is_short ? "short_columns_" : "columns_", kernels[self->op], "_",
                   of->name);
    gr_program_relocate(program, offsetof(gr_column_scan_params, in), in);
    gr_program_relocate(program, offsetof(gr_column_scan_params, out), out);
    return true;
}

/* Along an axis of one element a scan is a copy: elements that follow each other are lines of their own, so
   that tiles of them are read as vectors. */
static gr_scan with_single_elements(const gr_scan *self) {
    gr_scan merged = *self;
    const bool adjacent = self->lines == 1 || self->line_stride == (int64_t)self->inner * self->inner_stride;
    if (self->length == 1 && !self->initial && self->inner > GR_SCAN_MAX_COLUMNS && adjacent) {
        merged.lines = self->lines * self->inner;
        merged.inner = 1;
        merged.line_stride = self->inner_stride;
        merged.along_stride = (int64_t)gr_dtypes[self->dtype].item_bytes; /* of no other element */
    }
    return merged;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_scan merged = with_single_elements(request), *self = &merged;
    const gr_device_caps *caps = &device->backend->info.caps;
    const kind of = kind_of(self);
    const gr_scan_params params = params_of(self, &of);
    const bool any = !is_extreme(self->op); /* extremes have the tiled kernel only */
    uint64_t blocks = 0;
    const bool lines = any && caps->capability >= GR_HOPPER && has_contiguous_lines(self, &params);
    if (lines && plan_short(self, &of, program))
        return;
    const uint32_t threads = lines ? one_wave_threads(self, &of, &blocks) : 0;
    if (threads > 0) {
        plan_one_wave(self, &of, threads, blocks, program);
        return;
    }
    if (any && is_persistent(self, &of, &params, caps)) {
        plan_persistent(self, &of, program);
        return;
    }
    if (any && plan_columns(self, &of, &params, program))
        return;
    const uint64_t tiles = params.chains * params.chain_tiles;
    const uint64_t max_blocks = (uint64_t)gr_reference_device.multiprocessors * GR_SCAN_BLOCKS_PER_SM;
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = add_output(self, program);
    uint32_t nodes = 0;
    if (params.chain_tiles > 1) {
        nodes = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                  GR_NODES_OFFSET +
                                      ((size_t)(params.chains * params.chain_nodes) << params.columns_shift) *
                                          of.node_bytes);
        gr_program_clear(program, nodes);
    }
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)(tiles < max_blocks ? tiles : max_blocks);
    step->block[0] = GR_SCAN_THREADS;
    step->pdl = params.chain_tiles == 1; /* no memset is before it */
    step->kernel.owner = gr_scan_names[self->op];
    GR_KERNEL_NAME(step->kernel.file, "scan_", kernels[self->op]);
    GR_KERNEL_NAME(step->kernel.entry, "scan_", kernels[self->op], "_", of.name);
    gr_program_relocate(program, offsetof(gr_scan_params, in), in);
    gr_program_relocate(program, offsetof(gr_scan_params, out), out);
    if (params.chain_tiles > 1)
        gr_program_relocate(program, offsetof(gr_scan_params, nodes), nodes);
}

gr_status gr_scan_run(gr_device *device, const gr_scan *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
