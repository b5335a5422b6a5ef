/* Planner of order statistics: radix select by blocks or across blocks, gather of the first k elements,
   their sort, and interpolation of quantiles. */
#include "order/order.h"

#include <stddef.h>

#include "base/powers.h"
#include "executor/executor.h"
#include "order/few_lines.h"

enum {
    MAX_SHARED_LINE = 31744,  /* max. bytes of a line in shared memory */
    MAX_LONE_LINE = 96 << 10, /* the same where there are few lines, of doubles, and few ranks */
    SMALL_LINE = 32,          /* elements of a line up to which a warp selects from several lines */
    NETWORK_LINE = 128,       /* elements of a line that a sorting network sorts */
    WHOLE_TILE = 16, /* bytes of a line per selected element from which sorting the whole line is as fast */
    WHOLE_SMALL_TILE = 32,
    WAVES = 4,              /* waves of resident blocks */
    LINES_PER_SM = 2,       /* lines per SM from which each line gets one block, whatever its length */
    STATIC_BYTES = 2 << 10, /* static shared memory of the kernel that selects from lines, at most */
    LIST_PART = 1024,       /* elements of a full list per block */
};

_Static_assert((int)NETWORK_LINE <= (int)GR_ORDER_WARP_TILE,
               "longer lines may be sorted as they are, which is not in place");

/* The bits of infinity; 0: the dtype has none. */
static const uint64_t infinities[GR_DTYPE_COUNT] = {[GR_DTYPE_f16] = 0x7c00,
                                                    [GR_DTYPE_bf16] = 0x7f80,
                                                    [GR_DTYPE_f32] = 0x7f800000,
                                                    [GR_DTYPE_f64] = 0x7ff0000000000000};

bool gr_order_takes(gr_dtype dtype) {
    return !gr_dtype_is_complex(dtype);
}

/* Numbers of a buffer of elements and of one of their indices. */
typedef struct element_buffers {
    uint32_t elements, indices;
} element_buffers;

/* Splits lines into parts, which together are at most one wave of blocks. Of lists, a part has about
   LIST_PART elements. */
static void split_lines(gr_order_params *params) {
    uint64_t line_blocks = gr_ceil_div(gr_order_resident_blocks(), params->lines);
    if (params->flags & GR_ORDER_SAMPLED)
        line_blocks = gr_min(line_blocks, gr_ceil_div(params->capacity, LIST_PART));
    const uint64_t tiles = gr_ceil_div(params->length, GR_ORDER_TILE);
    params->part = gr_ceil_div(tiles, line_blocks) * GR_ORDER_TILE;
    params->parts = gr_ceil_div(params->length, params->part);
}

/* One launch, in which a warp or some lanes of it select from a line. */
static void plan_small(gr_order_planner *self) {
    gr_order_params params = self->params;
    const bool small = params.length <= SMALL_LINE;
    params.bits = gr_log2_from(params.length, gr_log2(SMALL_LINE));
    params.flags |= (self->top ? GR_ORDER_TOPK : 0) | (self->of->sorted ? GR_ORDER_SORTED_OUTPUT : 0);
    const uint64_t of_block = GR_ORDER_THREADS >> params.bits;
    gr_order_launch(self, "small", small ? "small" : "few",
                    gr_min(gr_ceil_div(params.lines, of_block), gr_order_resident_blocks() * WAVES), &params);
}

/* One launch, in which a block selects from a line. */
static void plan_rows(gr_order_planner *self) {
    gr_order_params params = self->params;
    const bool in_shared = self->in_shared;
    uint32_t threads = 32;
    while (threads < GR_ORDER_THREADS && threads * 8u < params.length)
        threads *= 2;
    params.chunk = gr_min(params.rank_count, GR_ORDER_MAX_RANKS);
    params.bits = !in_shared && params.chunk <= GR_ORDER_FEW_RANKS ? GR_ORDER_FEW_RANKS_DIGIT_BITS
                                                                   : GR_ORDER_DIGIT_BITS;
    params.flags |= (in_shared ? GR_ORDER_IN_SHARED : 0) | (self->top ? GR_ORDER_TOPK : 0);
    gr_step *step = gr_order_launch(self, "select", "rows", params.lines, &params);
    step->block[0] = threads;
    step->shared_bytes = (uint32_t)((params.chunk << params.bits) * sizeof(uint32_t));
    step->shared_bytes += in_shared ? (uint32_t)(params.length * self->item) : 0;
}

/* Allocates the memory between launches. Zeroed memory is zero after the launches, too. */
static void alloc_workspace(gr_order_planner *self, uint32_t bits) {
    const gr_order_params *params = &self->params;
    gr_program *program = self->program;
    gr_order_buffers *at = &self->at;
    const size_t chunks = (size_t)(params->lines * gr_ceil_div(params->rank_count, params->chunk));
    const size_t bytes = (chunks * params->chunk << bits) * sizeof(uint64_t),
                 tickets = chunks * 2 * sizeof(uint32_t);
    const bool kept = bytes + tickets <= GR_ORDER_MAX_ZEROED;
    const gr_buffer_kind memory = kept ? GR_BUFFER_ZEROED : GR_BUFFER_TEMPORARY;
    at->bins = gr_program_buffer(program, memory, bytes);
    at->tickets = gr_program_buffer(program, memory, tickets);
    at->states = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                   (size_t)(params->lines * params->rank_count) * sizeof(gr_order_state));
    if (!kept) {
        gr_program_clear(program, at->bins);
        gr_program_clear(program, at->tickets);
    }
}

/* Radix select with one launch per digit, several blocks per line. */
static void plan_digits(gr_order_planner *self) {
    gr_order_params *params = &self->params;
    params->chunk = gr_min(params->rank_count, GR_ORDER_MAX_RANKS);
    const uint32_t max_bits =
        params->chunk <= GR_ORDER_FEW_RANKS ? GR_ORDER_FEW_RANKS_DIGIT_BITS : GR_ORDER_DIGIT_BITS;
    const uint32_t width = self->item * 8, digits = (width + max_bits - 1) / max_bits;
    split_lines(params);
    alloc_workspace(self, (width + digits - 1) / digits);
    params->flags |= self->top ? GR_ORDER_TOPK : 0;
    uint32_t left = width;
    for (uint32_t i = 0; i < digits; ++i) {
        gr_order_params now = *params;
        now.bits = (left + digits - i - 1) / (digits - i);
        left -= now.bits;
        now.shift = left;
        now.flags |= (i == 0 ? GR_ORDER_FIRST_DIGIT : 0) | (left == 0 ? GR_ORDER_LAST_DIGIT : 0);
        gr_step *step = gr_order_launch(self, "select", "digit", params->parts, &now);
        step->grid[1] = (uint32_t)params->lines;
        step->grid[2] = (uint32_t)gr_ceil_div(params->rank_count, params->chunk);
        const size_t counting = (params->chunk << now.bits) * sizeof(uint32_t),
                     finding = ((size_t)1 << now.bits) * sizeof(uint64_t);
        step->shared_bytes = (uint32_t)gr_max(counting, finding);
    }
}

static void plan_gather(gr_order_planner *self) {
    gr_order_params params = self->params;
    split_lines(&params);
    self->at.counts = gr_program_buffer(self->program, GR_BUFFER_TEMPORARY,
                                        (size_t)(params.lines * params.parts) * 2 * sizeof(uint64_t));
    for (int counted = 0; counted < 2; ++counted) {
        params.flags = self->params.flags | (counted ? 0 : GR_ORDER_COUNT_PARTS);
        gr_order_launch(self, "top", "gather", params.parts, &params)->grid[1] = (uint32_t)params.lines;
    }
}

/* Bitonic sort in place, by a warp or a block per line. */
static void plan_network(gr_order_planner *self, element_buffers at) {
    self->at = (gr_order_buffers){.out = at.elements, .indices = at.indices};
    uint32_t threads = 32;
    while (threads * (GR_ORDER_NETWORK_TILE / GR_ORDER_THREADS) < self->params.k &&
           threads < GR_ORDER_THREADS)
        threads *= 2;
    gr_order_launch(self, "top", "sort", self->params.lines, &self->params)->block[0] = threads;
}

static gr_step *launch_sort(gr_order_planner *self, const char *kernel, uint64_t blocks,
                            const gr_order_sort_params *params, element_buffers from, element_buffers to) {
    gr_program *program = self->program;
    gr_step *step = gr_order_append(self, "sort", kernel, blocks, params, sizeof *params);
    gr_program_relocate(program, offsetof(gr_order_sort_params, in), from.elements);
    if (from.indices != 0)
        gr_program_relocate(program, offsetof(gr_order_sort_params, in_indices), from.indices);
    gr_program_relocate(program, offsetof(gr_order_sort_params, out), to.elements);
    gr_program_relocate(program, offsetof(gr_order_sort_params, indices), to.indices);
    return step;
}

/* One launch, in which a block sorts a line. */
static void plan_tiles(gr_order_planner *self, const gr_order_sort_params *params, element_buffers from,
                       element_buffers to) {
    const bool fewer = params->length <= GR_ORDER_SMALL_SORT_TILE;
    const uint32_t each = (fewer ? GR_ORDER_SMALL_SORT_TILE : GR_ORDER_SORT_TILE) / GR_ORDER_THREADS;
    gr_step *step = launch_sort(self, fewer ? "fewer" : "tile", params->lines, params, from, to);
    step->block[0] = 32;
    while (step->block[0] * each < params->length)
        step->block[0] *= 2;
}

/* LSD radix sort: three launches per digit (histograms, prefix sums, scatter). Elements alternate between
   two buffers; the last digit scatters to `to`. */
static void plan_radix_sort(gr_order_planner *self, gr_order_sort_params params, uint32_t digits,
                            element_buffers from, element_buffers to, element_buffers other) {
    gr_program *program = self->program;
    const uint64_t rows = params.lines * GR_ORDER_DIGITS;
    params.tiles = gr_ceil_div(params.length, GR_ORDER_SORT_TILE);
    const uint32_t counts =
        gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(rows * params.tiles) * sizeof(uint64_t));
    const uint32_t sums = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)rows * sizeof(uint64_t));
    for (uint32_t i = 0; i < digits; ++i) {
        static const char *const kernels[] = {"tally", "sums", "move"};
        const element_buffers next = (digits - i) % 2 == 1 ? to : other;
        params.shift = i * 8;
        for (size_t j = 0; j < sizeof kernels / sizeof kernels[0]; ++j) {
            const bool adds = j == 1;
            const uint64_t blocks =
                adds ? gr_ceil_div(rows, GR_ORDER_THREADS / 32) : params.lines * params.tiles;
            launch_sort(self, kernels[j], blocks, &params, from, next);
            gr_program_relocate(program, offsetof(gr_order_sort_params, counts), counts);
            gr_program_relocate(program, offsetof(gr_order_sort_params, sums), sums);
        }
        from = next;
    }
}

/* How often the elements of a line are written during a sort that is not in place. */
static uint32_t sort_passes(uint64_t length, uint32_t item) {
    return length <= NETWORK_LINE ? 0 : length <= GR_ORDER_SORT_TILE ? 1 : item;
}

/* Sorts lines of `length` elements and writes the first `k`. */
static void plan_sort(gr_order_planner *self, uint64_t length, element_buffers from, element_buffers to,
                      element_buffers other) {
    const gr_order_params *request_params = &self->params;
    const gr_order_sort_params params = {
        .lines = request_params->lines,
        .length = length,
        .k = request_params->k,
        .infinity = request_params->infinity,
        .flags = request_params->flags,
    };
    const uint32_t times = sort_passes(length, self->item);
    if (times == 0)
        plan_network(self, from);
    else if (length <= GR_ORDER_SORT_TILE)
        plan_tiles(self, &params, from, to);
    else
        plan_radix_sort(self, params, times, from, to, other);
}

/* Whether whole lines are sorted, instead of a selection. That pays the earlier the fewer digits the keys
   have: a sort of 1-byte elements is one pass. */
static bool sorts_whole_lines(const gr_order_request *self) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t min_kept =
        self->length * item / (self->length <= GR_ORDER_SMALL_SORT_TILE ? WHOLE_SMALL_TILE : WHOLE_TILE);
    const bool fits = self->length <= GR_ORDER_SORT_TILE && (item == 1 || self->k >= min_kept);
    return self->sorted && (fits || self->k == self->length);
}

static void plan_count_valid(gr_order_planner *self) {
    gr_order_params *params = &self->params;
    split_lines(params);
    params->flags |= GR_ORDER_COUNT_VALID;
    gr_program_clear(self->program, self->at.out);
    gr_order_launch(self, "top", "gather", params->parts, params)->grid[1] =
        (uint32_t)gr_min(params->lines, GR_MAX_GRID_YZ);
}

/* Whether lines fit in shared memory: of as many blocks per SM as registers allow; or, as several digits take
   a launch each otherwise, of one block. */
static bool fits_shared(const gr_order_planner *self, const gr_device_caps *caps) {
    const uint64_t bytes = self->params.length * self->item;
    const uint64_t bins = self->params.rank_count * sizeof(uint32_t) << GR_ORDER_DIGIT_BITS;
    return bytes <= MAX_SHARED_LINE ||
           (self->item == 8 && self->params.rank_count <= GR_ORDER_FEW_RANKS && bytes <= MAX_LONE_LINE &&
            bytes + bins + STATIC_BYTES <= caps->shared_per_block &&
            self->params.lines <= gr_reference_device.multiprocessors);
}

static bool selects_by_block(const gr_order_planner *self) {
    return self->in_shared ||
           self->params.lines >= (uint64_t)gr_reference_device.multiprocessors * LINES_PER_SM;
}

static void plan_topk(gr_order_planner *self) {
    gr_order_params *params = &self->params;
    const gr_order_request *of = self->of;
    gr_program *program = self->program;
    const size_t results = (size_t)(of->lines * of->k);
    const element_buffers in = {.elements = self->at.in},
                          out = {.elements = self->at.out, .indices = gr_program_input(program, 1)};
    params->k = of->k;
    params->flags |= GR_ORDER_EQUAL_ZEROS | (of->largest ? GR_ORDER_DESCENDING : 0);
    if (of->length <= GR_ORDER_WARP_TILE) {
        self->at.indices = out.indices;
        plan_small(self);
        return;
    }
    const bool whole = sorts_whole_lines(of);
    const uint32_t times = sort_passes(whole ? of->length : of->k, self->item);
    element_buffers other = {0};
    if (of->sorted && times > whole) {
        other.elements = gr_program_buffer(program, GR_BUFFER_TEMPORARY, results * self->item);
        other.indices = gr_program_buffer(program, GR_BUFFER_TEMPORARY, results * sizeof(int64_t));
    }
    if (whole) {
        plan_sort(self, of->length, in, out, other);
        return;
    }
    const element_buffers found = of->sorted && times % 2 == 1 ? other : out;
    const bool sampled = gr_order_samples_lines(self);
    if (gr_order_selects_few(self) || (sampled && of->k <= GR_ORDER_BLOCK_TOP)) {
        self->at.out = self->at.indices = 0;
        if (sampled)
            gr_order_plan_window(self, true);
        self->at.out = out.elements;
        self->at.indices = out.indices;
        gr_order_plan_block(self);
        return;
    }
    if (sampled) {
        self->at.out = 0;
        gr_order_plan_window(self, false);
    }
    if (!sampled && selects_by_block(self)) {
        self->at.out = found.elements;
        self->at.indices = found.indices;
        plan_rows(self);
    } else {
        self->at.out = 0;
        plan_digits(self);
        self->at =
            (gr_order_buffers){.states = self->at.states, .out = found.elements, .indices = found.indices};
        params->flags &= ~(uint32_t)GR_ORDER_SAMPLED;
        plan_gather(self);
    }
    if (of->sorted)
        plan_sort(self, of->k, found, out, other);
}

/* Interpolates between the selected elements in `at.out`. */
static void plan_interpolation(gr_order_planner *self, uint32_t out) {
    const gr_order_request *of = self->of;
    gr_order_quantiles quantiles = *of->quantiles;
    quantiles.lines = of->lines;
    quantiles.ranks = of->ranks;
    quantiles.from = (uint32_t)of->dtype;
    gr_step *step = gr_order_append(self, "between", "between",
                                    gr_ceil_div(quantiles.lines * quantiles.results, GR_ORDER_THREADS),
                                    &quantiles, sizeof quantiles);
    GR_KERNEL_NAME(step->kernel.entry, "order_between");
    gr_program_relocate(self->program, offsetof(gr_order_quantiles, in), self->at.out);
    if (of->valid_middle || of->valid_quantile)
        gr_program_relocate(self->program, offsetof(gr_order_quantiles, counts), self->at.ranks);
    gr_program_relocate(self->program, offsetof(gr_order_quantiles, out), out);
}

/* Whether a warp or a block selects from a line that it holds, and counts its valid elements as well. */
static bool counts_lines(const gr_order_planner *self) {
    return self->params.length <= GR_ORDER_WARP_TILE || gr_order_selects_few(self) ||
           (self->in_shared && !gr_order_samples_lines(self));
}

/* Counts the valid elements of each line, from which the selection computes its ranks. */
static void plan_valid(gr_order_planner *self) {
    gr_order_planner counting = *self;
    self->at.ranks = counting.at.out =
        gr_program_buffer(self->program, GR_BUFFER_TEMPORARY, (size_t)self->params.lines * sizeof(uint64_t));
    if (counts_lines(self))
        self->params.flags |= GR_ORDER_COUNTS_LINES;
    else
        plan_count_valid(&counting);
}

/* Whether a block selects from each line or its list, for SELECT. */
static bool selects_with_block(const gr_order_planner *self) {
    return gr_order_selects_few(self) || (gr_order_samples_lines(self) && gr_order_selects_from_list(self));
}

/* Whether the result of a line is the mean of the elements of its ranks. */
static bool is_middle(const gr_order_request *self) {
    return self->quantiles != NULL && self->quantiles->mean == GR_ORDER_MIDPOINT &&
           self->quantiles->results == 1 && self->quantiles->lower[0] == 0 &&
           self->quantiles->upper[0] == self->ranks - 1;
}

static void plan_select(gr_order_planner *self) {
    const gr_order_request *of = self->of;
    gr_order_params *params = &self->params;
    const uint32_t out = self->at.out;
    if (of->valid_middle || of->valid_quantile) {
        plan_valid(self);
        params->flags |= of->valid_middle ? GR_ORDER_VALID_MIDDLE : GR_ORDER_VALID_QUANTILE;
        params->q = of->quantiles->weight[0];
    } else if (of->inline_ranks != NULL) {
        params->flags |= GR_ORDER_INLINE_RANKS;
        for (uint64_t i = 0; i < of->ranks; ++i)
            params->inline_ranks[i] = (uint64_t)of->inline_ranks[i];
    } else {
        self->at.ranks = gr_program_input(self->program, 1);
    }
    const bool block = selects_with_block(self), middle = block && is_middle(of);
    if (of->quantiles != NULL && !middle)
        self->at.out = gr_program_buffer(self->program, GR_BUFFER_TEMPORARY,
                                         (size_t)(of->lines * of->ranks) * self->item);
    params->flags |= middle ? GR_ORDER_MIDDLE_RESULT : 0;
    if (of->length <= GR_ORDER_WARP_TILE)
        plan_small(self);
    else if (block) {
        if (!gr_order_selects_few(self))
            gr_order_plan_window(self, false);
        gr_order_plan_block(self);
    } else if (gr_order_samples_lines(self)) {
        gr_order_plan_window(self, false);
        plan_digits(self);
    } else if (selects_by_block(self))
        plan_rows(self);
    else
        plan_digits(self);
    if (of->quantiles != NULL && !middle)
        plan_interpolation(self, out);
}

/* The dtype of the results. */
static gr_dtype dtype_of(const gr_order_request *self) {
    if (self->task == GR_ORDER_TASK_COUNT_VALID)
        return GR_DTYPE_i64;
    return self->quantiles != NULL ? (gr_dtype)self->quantiles->to : self->dtype;
}

static uint64_t results_per_line(const gr_order_request *self) {
    if (self->task == GR_ORDER_TASK_SELECT)
        return self->quantiles != NULL ? self->quantiles->results : self->ranks;
    return self->task == GR_ORDER_TASK_TOPK ? self->k : 1;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_order_request *self = request;
    const uint64_t infinity = infinities[self->dtype];
    gr_order_planner it = {
        .of = self,
        .program = program,
        .params = {.lines = self->lines,
                   .length = self->length,
                   .rank_count = self->ranks,
                   .infinity = infinity,
                   .flags = (gr_dtype_is_signed_integer(self->dtype) ? GR_ORDER_SIGNED : 0) |
                            (self->dtype == GR_DTYPE_b8 ? GR_ORDER_BOOL : 0) |
                            (self->ranks_per_line ? GR_ORDER_RANKS_PER_LINE : 0) |
                            (self->nans && infinity != 0 ? GR_ORDER_PROPAGATE_NAN : 0)},
        .item = (uint32_t)gr_dtypes[self->dtype].item_bytes,
        .top = self->task == GR_ORDER_TASK_TOPK,
    };
    if (it.top)
        it.params.rank_count = 1;
    it.in_shared = fits_shared(&it, &device->backend->info.caps);
    const size_t results = (size_t)(self->lines * results_per_line(self));
    it.at.in = gr_program_input(program, 0);
    it.at.out = gr_program_buffer(program, GR_BUFFER_OUTPUT, results * gr_dtypes[dtype_of(self)].item_bytes);
    if (self->task == GR_ORDER_TASK_COUNT_VALID)
        plan_count_valid(&it);
    else if (it.top)
        plan_topk(&it);
    else
        plan_select(&it);
}

gr_status gr_order_run(gr_device *device, const gr_order_request *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
