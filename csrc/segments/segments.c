/* Planner of segmented reductions: picks kernels by operator and dtype, splits lines into tiles or ranges,
   and appends the search for the first segment of each piece and the last step of a variance. */
#include "segments/segments.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "base/powers.h"
#include "exact/superaccumulator.h"
#include "executor/executor.h"
#include "scan/scan.h"
#include "segments/ordered/plan.h"
#include "segments/params.h"

_Static_assert(sizeof(gr_stream_params) <= GR_MAX_PATCHED_PARAMS,
               "a backend writes `first` in a copy of them");

enum {
    TILES_PER_BLOCK = 4, /* tiles per resident block; with fewer, tiles are smaller */
    LOST_BYTES = 64,     /* of the words of lost sums */
    LOST_ROWS_PER_BLOCK = 8192,
    FEW_ROWS = 1 << 17,   /* rows up to which blocks leave no segment to the step of lost sums */
    SHORT_ROWS = 1 << 22, /* rows up to which segments of few rows are not streamed; others: half of them */
    SHORT_SEGMENT = 1 << 11,     /* mean rows of such segments */
    MAX_SHORT_SEGMENTS = 20000,  /* whose blocks take as long as the stream of few rows */
    MANY_SEGMENTS = 3200,        /* from which warps have segments of their own, */
    WARP_ROWS = 64,              /* if these have few rows on average */
    FEW_SEGMENTS = 4 * 132,      /* of which larger blocks take less time */
    SPLIT_ROWS = 2500,           /* mean rows of a segment from which several blocks share it, */
    ROWS_PER_SPLIT = 200,        /* of about as many rows each, */
    MAX_SPLIT_BLOCKS = 16 * 132, /* unless there would be more blocks */
};

/* Blocks that the reference device holds at once. */
static uint64_t resident_blocks(void) {
    return (uint64_t)gr_reference_device.multiprocessors * GR_SEGMENT_BLOCKS_PER_SM;
}

/* Value type of the States, by which kernels are compiled. */
typedef enum value_kind { VALUE_REAL, VALUE_INTEGER, VALUE_COMPLEX, VALUE_KINDS } value_kind;
static const char *const value_kind_names[VALUE_KINDS] = {"real", "whole", "pair"};

/* Kernels of an operator, and their flags. */
typedef struct segment_kernel {
    const char *file, *kernel; /* NULL: none */
    uint32_t flags;
    bool has_position; /* States include a position */
} segment_kernel;

static const segment_kernel segment_kernels[GR_OP_COUNT] = {
    [GR_OP_sum] = {"sum", "sum", 0, false},
    [GR_OP_mean] = {"sum", "sum", GR_SEGMENT_MEAN, false}, /* of integers: see kernel_of */
    [GR_OP_any] = {"sum", "sum", GR_SEGMENT_BOOL | GR_SEGMENT_ANY, false},
    [GR_OP_all] = {"sum", "sum", GR_SEGMENT_BOOL | GR_SEGMENT_ALL, false},
    [GR_OP_count_nonzero] = {"sum", "sum", GR_SEGMENT_BOOL, false},
    [GR_OP_prod] = {"prod", "prod", 0, false},
    [GR_OP_min] = {"extremes", "min", 0, false},
    [GR_OP_max] = {"extremes", "max", 0, false},
    [GR_OP_argmin] = {"extremes", "argmin", 0, true},
    [GR_OP_argmax] = {"extremes", "argmax", 0, true},
    [GR_OP_var] = {"var", "var", 0, false},
    [GR_OP_std] = {"var", "var", 0, false},
    [GR_OP_logsumexp] = {"logsumexp", "logsumexp", 0, false},
    [GR_OP_nansum] = {"sum", "sum", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_nanmean] = {"sum", "sum", GR_SEGMENT_SKIP_NAN | GR_SEGMENT_MEAN, false},
    [GR_OP_nanprod] = {"prod", "prod", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_nanmin] = {"extremes", "min", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_nanmax] = {"extremes", "max", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_nanvar] = {"var", "var", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_nanstd] = {"var", "var", GR_SEGMENT_SKIP_NAN, false},
    [GR_OP_bitwise_and] = {"bits", "bitwise_and", 0, false},
    [GR_OP_bitwise_or] = {"bits", "bitwise_or", 0, false},
    [GR_OP_bitwise_xor] = {"bits", "bitwise_xor", 0, false},
};

bool gr_segments_take(gr_op op, gr_dtype dtype) {
    return segment_kernels[op].kernel != NULL && gr_op_takes(op, dtype) &&
           !(gr_op_is_variance(op) && gr_dtype_is_complex(dtype));
}

static value_kind value_kind_of(gr_op op, gr_dtype dtype) {
    if (segment_kernels[op].flags & GR_SEGMENT_BOOL)
        return VALUE_INTEGER;
    if (gr_dtype_is_complex(dtype))
        return VALUE_COMPLEX;
    const bool real = gr_op_is_variance(op) || gr_dtypes[dtype].kind != GR_KIND_BITS;
    return real ? VALUE_REAL : VALUE_INTEGER;
}

/* Name of a kernel, without the value type. */
static const char *kernel_of(gr_op op, gr_dtype dtype) {
    const bool whole_mean = gr_op_is_mean(op) && value_kind_of(op, dtype) == VALUE_INTEGER;
    return whole_mean ? "mean" : segment_kernels[op].kernel;
}

/* Whether sums are exact, in Expansions of three doubles, and may be lost. */
static bool is_exact_sum(gr_op op, value_kind by) {
    const bool is_sum = op == GR_OP_sum || op == GR_OP_mean || op == GR_OP_nansum || op == GR_OP_nanmean;
    return is_sum && by != VALUE_INTEGER;
}

/* Whether results need the numbers of elements that are not NaN. Integers have no NaN. */
static bool needs_counts(const gr_segments *self) {
    return segment_kernels[self->op].flags & GR_SEGMENT_SKIP_NAN && self->op != GR_OP_nansum &&
           self->op != GR_OP_nanprod && gr_dtypes[self->dtype].kind != GR_KIND_BITS;
}

/* Bytes per look-back node: twice the size of the State and of its flags, as half of each 8-byte word is a
   ready mark. */
static uint32_t node_bytes(value_kind by, gr_op op) {
    if (gr_op_is_mean(op) || is_exact_sum(op, by))
        return by == VALUE_COMPLEX ? 112u : 64u;
    return 32u + (by == VALUE_COMPLEX ? 16u : 0u) + (segment_kernels[op].has_position ? 16u : 0u);
}

/* Splits a tile between the threads of a block. */
static void share(gr_segment_params *params, value_kind by, bool exact) {
    const uint32_t shift = gr_log2_from(params->inner, gr_log2(GR_SEGMENT_MAX_COLUMNS));
    params->columns_shift = shift;
    params->groups_shift = gr_log2(GR_SEGMENT_THREADS) - shift;
    params->each = GR_SEGMENT_ITEMS_PER_THREAD / (by != VALUE_COMPLEX ? 1u : exact ? 4u : 2u);
    params->stripes = gr_ceil_div(params->inner, 1u << shift);
    params->width = (uint32_t)gr_ceil_div(params->inner, params->stripes);
    params->stripes = gr_ceil_div(params->inner, params->width);
    params->chains = params->lines * params->stripes;
    params->chain_pieces = gr_ceil_div(params->rows + params->segments, params->each << params->groups_shift);
    params->pieces = 1;
    while (params->pieces < GR_SEGMENT_MAX_PIECES &&
           params->chain_pieces * params->chains > params->pieces * resident_blocks() * TILES_PER_BLOCK)
        params->pieces *= 2;
    params->chain_tiles = gr_ceil_div(params->chain_pieces, params->pieces);
    params->chain_nodes = gr_lookback_nodes(params->chain_tiles);
}

static gr_segment_params params_of(const gr_segments *self, value_kind by) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes, inner = (int64_t)self->inner;
    const gr_dtype to = gr_op_result(self->op, self->dtype);
    gr_segment_params params = {
        .permutation = self->permuted_rows > 0 ? self->segments + 1 : 0,
        .rows = self->permuted_rows > 0 ? self->permuted_rows : self->length,
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner,
        .segments = self->segments,
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .from = (uint32_t)self->dtype,
        .to = (uint32_t)to,
        .flags = segment_kernels[self->op].flags,
        .result_bytes = (uint32_t)gr_dtypes[to].item_bytes,
    };
    memcpy(params.empty_result, &self->empty_result, sizeof params.empty_result);
    share(&params, by, is_exact_sum(self->op, by));
    if (params.stripes == 1 && params.permutation == 0 && (inner == 1 || params.inner_stride == 1) &&
        (self->length <= 1 || params.along_stride == inner))
        params.flags |= GR_SEGMENT_LINEAR;
    return params;
}

/* Buffers of look-back chains of several tiles. */
typedef struct chain_buffers {
    uint32_t nodes, starts;
} chain_buffers;

/* Elements, offsets, results, and the numbers of elements that count, if results need them. */
enum { IN, OFFSETS, OUT, COUNTS, OPERANDS };

static void relocate_all(gr_program *program, const gr_segments *self, const uint32_t operands[OPERANDS],
                         const chain_buffers *at) {
    gr_program_relocate(program, offsetof(gr_segment_params, in), operands[IN]);
    gr_program_relocate(program, offsetof(gr_segment_params, offsets), operands[OFFSETS]);
    gr_program_relocate(program, offsetof(gr_segment_params, out), operands[OUT]);
    if (needs_counts(self))
        gr_program_relocate(program, offsetof(gr_segment_params, counts), operands[COUNTS]);
    if (at != NULL) {
        gr_program_relocate(program, offsetof(gr_segment_params, nodes), at->nodes);
        gr_program_relocate(program, offsetof(gr_segment_params, starts), at->starts);
    }
}

/* The dtype of the components, by which kernels of exact sums are named. */
static const char *component_name(gr_dtype dtype) {
    static const char *const names[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f32] = "f32",   [GR_DTYPE_f64] = "f64", [GR_DTYPE_f16] = "f16",
        [GR_DTYPE_bf16] = "bf16", [GR_DTYPE_c64] = "f32", [GR_DTYPE_c128] = "f64"};
    return names[dtype];
}

static gr_lost_sums_params lost_sums_params_of(const gr_segments *self) {
    const uint32_t components = gr_dtype_is_complex(self->dtype) ? 2 : 1;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes / components;
    gr_lost_sums_params params = {
        .permutation = self->permuted_rows > 0 ? self->segments + 1 : 0,
        .rows = self->permuted_rows > 0 ? self->permuted_rows : self->length,
        .results = self->lines * self->segments * self->inner * components,
        .segments = self->segments,
        .columns = self->inner * components,
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .components = components,
        .flags = segment_kernels[self->op].flags,
    };
    memcpy(params.empty_result, &self->empty_result, sizeof params.empty_result);
    return params;
}

/* Bytes of a state of all exponents. */
static uint32_t state_bytes_of(gr_dtype dtype) {
    const bool wide = dtype == GR_DTYPE_f64 || dtype == GR_DTYPE_c128;
    return (wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS) * 8;
}

static void name_lost_sums(const gr_segments *self, const char *kernel, const gr_device_caps *caps,
                           gr_step *step) {
    step->block[0] = GR_LOST_SUMS_THREADS;
    step->pdl = caps->capability >= GR_HOPPER;
    step->kernel.owner = gr_ops[self->op].name;
    GR_KERNEL_NAME(step->kernel.file, "segment_", kernel);
    GR_KERNEL_NAME(step->kernel.entry, "segment_", kernel, "_", component_name(self->dtype));
}

static void relocate_lost_sums(gr_program *program, const uint32_t operands[OPERANDS]) {
    gr_program_relocate(program, offsetof(gr_lost_sums_params, in), operands[IN]);
    gr_program_relocate(program, offsetof(gr_lost_sums_params, offsets), operands[OFFSETS]);
    gr_program_relocate(program, offsetof(gr_lost_sums_params, out), operands[OUT]);
}

/* Appends the step that adds up lost sums. */
static void plan_lost_sums(const gr_segments *self, const uint32_t operands[OPERANDS], uint32_t lost,
                           const gr_device_caps *caps, gr_program *program) {
    const gr_lost_sums_params params = lost_sums_params_of(self);
    const uint32_t state_bytes = state_bytes_of(self->dtype);
    /* Blocks that share a result: where there are few of them, of many rows. */
    const uint64_t parts = gr_min(params.rows / params.segments / LOST_ROWS_PER_BLOCK,
                                  resident_blocks() / gr_min(params.results, resident_blocks() + 1));
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(params.results, GR_LOST_SUMS_THREADS), resident_blocks());
    step->shared_bytes = GR_LOST_SUMS_THREADS / 32 * state_bytes;
    if (parts > 1) {
        step->grid[0] = (uint32_t)params.results;
        step->grid[1] = (uint32_t)parts;
        gr_program_relocate(
            program, offsetof(gr_lost_sums_params, states),
            gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)params.results * state_bytes));
    }
    name_lost_sums(self, "lost", caps, step);
    relocate_lost_sums(program, operands);
    if (needs_counts(self))
        gr_program_relocate(program, offsetof(gr_lost_sums_params, counts), operands[COUNTS]);
    gr_program_relocate(program, offsetof(gr_lost_sums_params, lost), lost);
}

/* How streaming kernels load elements. `ordered_bits`: values are compared as signed integers. */
static void set_load_kind(gr_stream_params *params, gr_dtype dtype, bool ordered_bits) {
    static const gr_stream_kind bit_kinds[] = {
        [1] = GR_STREAM_BITS8, [2] = GR_STREAM_BITS16, [4] = GR_STREAM_BITS32, [8] = GR_STREAM_BITS64};
    static const gr_stream_kind float_kinds[GR_DTYPE_COUNT] = {[GR_DTYPE_f32] = GR_STREAM_F32,
                                                               [GR_DTYPE_f64] = GR_STREAM_F64,
                                                               [GR_DTYPE_f16] = GR_STREAM_F16,
                                                               [GR_DTYPE_bf16] = GR_STREAM_BF16};
    const bool is_float = gr_dtypes[dtype].kind != GR_KIND_BITS, as_bool = params->flags & GR_SEGMENT_BOOL;
    const bool narrow_signed = gr_dtype_is_signed_integer(dtype) && params->item < 8;
    const uint64_t sign = 1ull << (8 * params->item - 1);
    params->kind = is_float && !as_bool ? float_kinds[dtype] : bit_kinds[params->item];
    params->mask = is_float && as_bool ? ~sign : UINT64_MAX; /* -0 is false, as 0 is */
    params->flip = narrow_signed || (ordered_bits && dtype == GR_DTYPE_u64) ? sign : 0;
    params->bias = narrow_signed ? sign : 0;
    if (dtype == GR_DTYPE_b8)
        params->flags |= GR_SEGMENT_BOOL;
}

/* Whether the streaming kernels apply: contiguous elements of one column. */
static bool can_stream(const gr_segments *self, value_kind by) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    return self->inner == 1 && self->permuted_rows == 0 &&
           !(segment_kernels[self->op].flags & GR_SEGMENT_SKIP_NAN) && self->op != GR_OP_logsumexp &&
           (self->length <= 1 || self->along_stride == item) && by != VALUE_COMPLEX && item <= 8 &&
           !gr_dtype_is_complex(self->dtype) && !(gr_op_is_mean(self->op) && by == VALUE_INTEGER);
}

/* Whether results depend on the order, which then follows from the length of a segment. Products of
   contiguous elements are streamed, in another order. */
static bool is_ordered(const gr_segments *self, value_kind by) {
    const bool is_product = self->op == GR_OP_prod || self->op == GR_OP_nanprod;
    return gr_op_is_variance(self->op) || self->op == GR_OP_logsumexp ||
           (is_product && by != VALUE_INTEGER && !can_stream(self, by));
}

static gr_stream_params stream_params_of(const gr_segments *self, bool exact) {
    const gr_dtype to = gr_op_result(self->op, self->dtype);
    const bool few = self->length / GR_STREAM_LONG_SEGMENT >= self->segments;
    const uint64_t max_ranges = (uint64_t)gr_reference_device.multiprocessors * GR_STREAM_WARPS *
                                (few     ? GR_STREAM_FEW_ENDS_BLOCKS_PER_SM
                                 : exact ? GR_STREAM_EXACT_BLOCKS_PER_SM
                                         : GR_STREAM_BLOCKS_PER_SM);
    gr_stream_params params = {
        .rows = self->length,
        .segments = self->segments,
        .line_stride = self->line_stride / (int64_t)gr_dtypes[self->dtype].item_bytes,
        .item = (uint32_t)gr_dtypes[self->dtype].item_bytes,
        .to = (uint32_t)to,
        .flags = segment_kernels[self->op].flags,
        .weight = GR_STREAM_END_WEIGHT,
        .result_bytes = (uint32_t)gr_dtypes[to].item_bytes,
    };
    memcpy(params.empty_result, &self->empty_result, sizeof params.empty_result);
    set_load_kind(&params, self->dtype,
                  gr_op_has(self->op, GR_SELECTS) || segment_kernels[self->op].has_position);
    const uint64_t items = self->length + params.weight * self->segments,
                   shares = gr_ceil_div(items, few ? 2 * GR_STREAM_MIN_RANGE : GR_STREAM_MIN_RANGE);
    params.line_ranges = max_ranges / self->lines;
    if (params.line_ranges > shares)
        params.line_ranges = shares;
    if (params.line_ranges == 0)
        params.line_ranges = 1;
    params.ranges = self->lines * params.line_ranges;
    params.blocks = (uint32_t)gr_ceil_div(params.ranges, GR_STREAM_WARPS);
    params.inverse_ranges = 1 / (double)params.line_ranges;
    params.ends_per_range = (double)self->segments / (double)params.line_ranges;
    return params;
}

/* Whether blocks or warps for each segment of an exact sum take less time than the stream of all rows: few
   rows, or segments that are short on average. */
static bool are_short(const gr_segments *self) {
    const uint64_t most = self->length / self->segments <= SHORT_SEGMENT ? SHORT_ROWS : SHORT_ROWS / 2;
    return self->path == GR_SEGMENTS_ANY && self->lines * self->segments <= MAX_SHORT_SEGMENTS &&
           self->length <= most;
}

/* A launch of segment_short. */
typedef struct short_blocks {
    uint32_t threads, blocks, splits; /* splits: blocks per segment */
    bool by_warp;
} short_blocks;

/* Threads per block, at most, of few segments. */
static uint32_t short_threads_of_few(const gr_segments *self, uint64_t results) {
    const bool many = results > gr_reference_device.multiprocessors;
    if (self->dtype == GR_DTYPE_f64)
        return many || results <= gr_reference_device.multiprocessors / 2 ? 256 : 512;
    return many ? 256 : 512;
}

/* Chooses blocks by the mean rows of a segment. All rows of a segment are in flight at once, or nearly so. Of
   many short segments, each warp has one; of few long ones, several blocks share one. */
static short_blocks short_blocks_of(const gr_segments *self, uint64_t results) {
    const uint64_t rows = self->length / self->segments;
    short_blocks all = {GR_LOST_SUMS_THREADS, (uint32_t)results, 1,
                        results > MANY_SEGMENTS && rows <= WARP_ROWS};
    if (all.by_warp) {
        all.blocks = (uint32_t)gr_ceil_div(results, GR_LOST_SUMS_THREADS / 32);
        return all;
    }
    if (rows > SPLIT_ROWS) {
        const uint64_t splits =
            gr_min(gr_min(rows / ROWS_PER_SPLIT, MAX_SPLIT_BLOCKS / results), GR_SHORT_SUMS_MAX_SPLITS);
        all.splits = gr_power_of_two_from(splits / 2 + 1, GR_SHORT_SUMS_MAX_SPLITS);
    }
    if (all.splits > 1)
        all.threads =
            gr_power_of_two_from(gr_max(gr_ceil_div(rows, 8 * all.splits), 128), GR_SHORT_SUMS_THREADS);
    else if (results <= FEW_SEGMENTS)
        all.threads =
            gr_power_of_two_from(gr_max(gr_ceil_div(rows, 4), 32), short_threads_of_few(self, results));
    else if (results <= MANY_SEGMENTS)
        all.threads = gr_power_of_two_from(gr_max(rows / 6, 32), results > MANY_SEGMENTS / 2 ? 128 : 256);
    else
        all.threads = gr_power_of_two_from(gr_max(rows / 8, 32), 128);
    return all;
}

/* Appends blocks for each segment. Those of a segment do not add up more than GR_SHORT_SUMS_MAX_ROWS rows
   each of a larger array, whose segments may differ in length: they are for the step of lost sums. */
static void plan_short(const gr_segments *self, const gr_device_caps *caps, gr_program *program) {
    gr_lost_sums_params params = lost_sums_params_of(self);
    const short_blocks all = short_blocks_of(self, params.results);
    params.flags |= all.by_warp ? GR_SEGMENT_BY_WARP : 0;
    const bool left = self->length > FEW_ROWS;
    const uint32_t operands[OPERANDS] = {
        gr_program_input(program, 0), gr_program_input(program, 1),
        gr_program_buffer(program, GR_BUFFER_OUTPUT,
                          (size_t)params.results * gr_dtypes[self->dtype].item_bytes),
        0};
    const uint32_t lost = left ? gr_program_buffer(program, GR_BUFFER_ZEROED, LOST_BYTES) : 0;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    name_lost_sums(self, "short", caps, step);
    step->grid[0] = all.blocks;
    step->grid[1] = all.splits;
    step->block[0] = all.threads;
    step->shared_bytes = (all.by_warp ? all.threads / 32 : 1) * state_bytes_of(self->dtype);
    relocate_lost_sums(program, operands);
    if (all.splits > 1) {
        const size_t slots = (size_t)params.results * all.splits * GR_SHORT_SUMS_SLOT_BYTES;
        gr_program_relocate(program, offsetof(gr_lost_sums_params, slots),
                            gr_program_buffer(program, GR_BUFFER_TEMPORARY, slots));
        gr_program_relocate(
            program, offsetof(gr_lost_sums_params, tickets),
            gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)params.results * sizeof(uint32_t)));
    }
    if (left) {
        gr_program_relocate(program, offsetof(gr_lost_sums_params, lost), lost);
        plan_lost_sums(self, operands, lost, caps, program);
    }
}

static void plan_streams(const gr_segments *self, value_kind by, const gr_device_caps *caps,
                         gr_program *program) {
    const bool exact = is_exact_sum(self->op, by);
    const gr_stream_params params = stream_params_of(self, exact);
    const uint32_t in = gr_program_input(program, 0), offsets = gr_program_input(program, 1);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT,
                                           (size_t)(self->lines * self->segments) * params.result_bytes);
    const uint32_t operands[OPERANDS] = {in, offsets, out, 0};
    uint32_t slots = 0, lost = 0;
    if (exact)
        lost = gr_program_buffer(program, GR_BUFFER_ZEROED, LOST_BYTES);
    if (params.line_ranges > 1)
        slots = gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)params.blocks * GR_STREAM_SLOT_BYTES);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = params.blocks;
    step->block[0] = 32 * GR_STREAM_WARPS;
    step->first_block_offset = params.line_ranges > 1 ? offsetof(gr_stream_params, first) : 0;
    step->pdl = caps->capability >= GR_HOPPER;
    step->kernel.owner = gr_ops[self->op].name;
    GR_KERNEL_NAME(step->kernel.file, "stream_", segment_kernels[self->op].file);
    GR_KERNEL_NAME(step->kernel.entry, "stream_", segment_kernels[self->op].kernel, "_",
                   value_kind_names[by]);
    gr_program_relocate(program, offsetof(gr_stream_params, in), in);
    gr_program_relocate(program, offsetof(gr_stream_params, offsets), offsets);
    gr_program_relocate(program, offsetof(gr_stream_params, out), out);
    if (params.line_ranges > 1)
        gr_program_relocate(program, offsetof(gr_stream_params, slots), slots);
    if (exact) {
        gr_program_relocate(program, offsetof(gr_stream_params, lost), lost);
        plan_lost_sums(self, operands, lost, caps, program);
    }
}

/* Appends the steps of tiles, which write the results to a buffer. */
static void plan_tiles(const gr_segments *self, gr_segment_params params, value_kind by,
                       const uint32_t operands[OPERANDS], const gr_device_caps *caps, gr_program *program) {
    const uint64_t tiles = params.chains * params.chain_tiles;
    chain_buffers at;
    const bool cut = params.chain_pieces > 1;
    if (cut) {
        const size_t nodes_bytes =
            GR_SEGMENT_NODES_OFFSET +
            ((size_t)(params.chains * params.chain_nodes) << params.columns_shift) * node_bytes(by, self->op);
        params.node_words = nodes_bytes / 8;
        at.nodes = gr_program_buffer(program, GR_BUFFER_TEMPORARY, nodes_bytes);
        at.starts = gr_program_buffer(program, GR_BUFFER_TEMPORARY, ((size_t)params.chain_pieces + 1) * 8);
        gr_step *search = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
        search->grid[0] = (uint32_t)gr_ceil_div(params.chain_pieces + 1, GR_SEGMENT_THREADS / 32);
        search->block[0] = GR_SEGMENT_THREADS;
        search->pdl = caps->capability >= GR_HOPPER;
        search->kernel.owner = gr_ops[self->op].name;
        GR_KERNEL_NAME(search->kernel.file, "segment_starts");
        GR_KERNEL_NAME(search->kernel.entry, "segment_starts");
        relocate_all(program, self, operands, &at);
    }
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)(tiles < resident_blocks() ? tiles : resident_blocks());
    step->block[0] = GR_SEGMENT_THREADS;
    step->pdl = caps->capability >= GR_HOPPER;
    step->kernel.owner = gr_ops[self->op].name;
    GR_KERNEL_NAME(step->kernel.file, "segment_", segment_kernels[self->op].file);
    GR_KERNEL_NAME(step->kernel.entry, "segment_", kernel_of(self->op, self->dtype), "_",
                   value_kind_names[by]);
    relocate_all(program, self, operands, cut ? &at : NULL);
}

/* Appends the steps that count the elements of each result that are not NaN. Returns the buffer. */
static uint32_t plan_counts(const gr_segments *self, const uint32_t operands[OPERANDS],
                            const gr_device_caps *caps, gr_program *program) {
    gr_segments count = *self;
    count.op = GR_OP_count_nonzero;
    memset(&count.empty_result, 0, sizeof count.empty_result);
    gr_segment_params params = params_of(&count, VALUE_INTEGER);
    params.flags |= GR_SEGMENT_SKIP_NAN;
    const size_t bytes = (size_t)(self->lines * self->segments * self->inner) * params.result_bytes;
    const uint32_t counts = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    const uint32_t counting[OPERANDS] = {operands[IN], operands[OFFSETS], counts, 0};
    plan_tiles(&count, params, VALUE_INTEGER, counting, caps, program);
    return counts;
}

/* Whether sums of complex numbers are those of two columns of real ones, which need fewer registers. Not if a
   NaN in one part skips the other. */
static bool are_columns(const gr_segments *self) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    return gr_dtype_is_complex(self->dtype) && (self->op == GR_OP_sum || self->op == GR_OP_mean) &&
           (self->inner == 1 || self->inner_stride == item);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    gr_segments of = *(const gr_segments *)request;
    const gr_segments *self = &of;
    if (are_columns(self)) {
        of.dtype = self->dtype == GR_DTYPE_c64 ? GR_DTYPE_f32 : GR_DTYPE_f64;
        of.inner *= 2;
        of.inner_stride = (int64_t)gr_dtypes[of.dtype].item_bytes;
    }
    const gr_device_caps *caps = &device->backend->info.caps;
    const value_kind by = value_kind_of(self->op, self->dtype);
    if (is_ordered(self, by)) {
        gr_ordered_segments_plan(self, segment_kernels[self->op].kernel, value_kind_names[by],
                                 segment_kernels[self->op].flags, caps, program);
        return;
    }
    if (can_stream(self, by) && is_exact_sum(self->op, by) && are_short(self)) {
        plan_short(self, caps, program);
        return;
    }
    if (can_stream(self, by)) {
        plan_streams(self, by, caps, program);
        return;
    }
    gr_segment_params params = params_of(self, by);
    const size_t results = (size_t)(self->lines * self->segments * self->inner);
    const uint32_t in = gr_program_input(program, 0), offsets = gr_program_input(program, 1);
    uint32_t operands[OPERANDS] = {
        in, offsets, gr_program_buffer(program, GR_BUFFER_OUTPUT, results * params.result_bytes), 0};
    if (needs_counts(self))
        operands[COUNTS] = plan_counts(self, operands, caps, program);
    plan_tiles(self, params, by, operands, caps, program);
    if (is_exact_sum(self->op, by)) {
        const uint32_t lost = gr_program_buffer(program, GR_BUFFER_ZEROED, LOST_BYTES);
        gr_program_relocate(program, offsetof(gr_segment_params, lost), lost);
        plan_lost_sums(self, operands, lost, caps, program);
    }
}

gr_status gr_segments_run(gr_device *device, const gr_segments *self, const gr_binding *binding,
                          const gr_interrupt *interrupt, gr_error *error) {
    if (self->lines == 0 || self->segments == 0 || self->inner == 0)
        return GR_OK;
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
