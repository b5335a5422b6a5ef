/* Which lines the kernels of order_sampled.cu select from, and with how many samples, blocks and threads. */
#include "order/few_lines.h"

#include <math.h>

/* Measured on an H200: beyond these limits the kernels of order_select.cu, order_small.cu and order_top.cu
   are as fast. */
enum {
    MANY_LINES = 264,          /* lines, two per SM, from which kernels for many lines are not idle */
    SEVERAL_LINES = 1024,      /* up to which a block still selects a rank from lines that are not so long */
    MAX_BLOCK_TOPK = 32 << 10, /* max. bytes of a line from which a block takes the first elements */
    MAX_BUSY_TOPK = 16 << 10,  /* the same of many lines, if they have many more elements than are taken */
    MAX_BLOCK_RANK = 64 << 10, /* max. bytes of a line from which a block selects a rank */
    MAX_SEVERAL_RANK = 16 << 10, /* the same of several lines */
    MIN_BUSY_RANK = 512, /* elements of a line from which a block selects a rank, of any number of lines */
    MAX_BUSY_RANK = 2048,
    MAX_LISTED_FLOAT = 1 << 16, /* max. elements of a line from whose list a block selects a rank */
    MAX_LISTED = 1 << 18,       /* the same of 8-byte elements, or of LISTED_LINES lines */
    LISTED_LINES = 4,
    LARGE_FLOAT = 40 << 20,  /* bytes of all lines from which windows pay if digits take a launch each */
    LARGE_DOUBLE = 24 << 20, /* the same of 8-byte elements, which have more digits */
    MIN_SAMPLES = 1024,      /* samples of a line: powers of two */
    MAX_SAMPLES = 65536,
    MANY_FIRST = 128, /* first elements above which short lines and long ones have more samples */
    SHORT_LINE = 1 << 18,
    LONG_LINE = 1 << 23,
    MIN_THREADS = 128, /* threads per block */
    FEW_LINES = 16,    /* up to which, and above one per SM, a thread has twice the elements */
};

_Static_assert((int)MIN_SAMPLES == 256 * GR_ORDER_SAMPLES_EACH, "a block collects a small sample");

/* Whether the kernels have the keys, and the ranks of a line are one, or two adjacent ones. */
static bool has_kernels(const gr_order_planner *self) {
    const gr_order_request *of = self->of;
    if (self->item < 4 || of->length > INT32_MAX || of->length <= GR_ORDER_WARP_TILE)
        return false;
    if (self->top || of->valid_middle || of->valid_quantile || of->ranks == 1)
        return true;
    return of->ranks == 2 && of->inline_ranks != NULL && of->inline_ranks[1] - of->inline_ranks[0] <= 1;
}

static bool has_few_first(const gr_order_request *of) {
    return of->k <= of->length / 8;
}

bool gr_order_selects_few(const gr_order_planner *self) {
    const gr_order_request *of = self->of;
    const uint64_t bytes = of->length * self->item;
    const bool many = of->lines >= MANY_LINES;
    if (!has_kernels(self))
        return false;
    if (self->top)
        return of->k <= GR_ORDER_BLOCK_TOP && bytes <= MAX_BLOCK_TOPK &&
               (!many || bytes < MAX_BUSY_TOPK || !has_few_first(of));
    if (!many)
        return bytes <= MAX_BLOCK_RANK;
    return (of->lines <= SEVERAL_LINES && bytes <= MAX_SEVERAL_RANK) ||
           (of->length >= MIN_BUSY_RANK && of->length <= MAX_BUSY_RANK);
}

bool gr_order_selects_from_list(const gr_order_planner *self) {
    const gr_order_request *of = self->of;
    if (self->top)
        return of->k <= GR_ORDER_BLOCK_TOP;
    return of->length <= (self->item == 8 || of->lines >= LISTED_LINES ? MAX_LISTED : MAX_LISTED_FLOAT);
}

bool gr_order_samples_lines(const gr_order_planner *self) {
    const gr_order_request *of = self->of;
    const uint64_t bytes = of->length * self->item, max_lines = GR_ORDER_MAX_ZEROED / sizeof(uint32_t);
    if (!has_kernels(self) || gr_order_selects_few(self) || of->lines > max_lines)
        return false;
    const bool large = bytes * of->lines >= (self->item == 8 ? LARGE_DOUBLE : LARGE_FLOAT);
    if (!self->top)
        return bytes > MAX_BLOCK_RANK && (large || gr_order_selects_from_list(self)) &&
               (of->lines < MANY_LINES || bytes >= 2 * MAX_BLOCK_RANK);
    return bytes >= MAX_BUSY_TOPK && has_few_first(of) && (large || gr_order_selects_from_list(self));
}

/* Returns the number of samples of a line. The selection from the sample and the selection from the list then
   take about the same time. */
static uint64_t samples_of(const gr_order_request *of) {
    const bool more = of->task == GR_ORDER_TASK_TOPK && of->k > MANY_FIRST &&
                      (of->length <= SHORT_LINE || of->length >= LONG_LINE);
    const uint64_t square = of->length * (more ? 32 : 8), most = more ? MAX_SAMPLES : MAX_SAMPLES / 4;
    uint64_t samples = MIN_SAMPLES;
    while (samples < most && samples * samples < square)
        samples *= 2;
    return samples;
}

/* The elements of a list: those in a window that is as wide as windows are at most, and 5 standard deviations
   more. order_sample computes the same margin. */
static uint64_t list_capacity(const gr_order_request *of, uint64_t samples) {
    const bool top = of->task == GR_ORDER_TASK_TOPK;
    const double share = (double)samples / (double)of->length, all = (double)samples;
    const double rank = top ? (double)of->k * share : all / 2;
    const double margin = (5 * sqrt(rank * (1 - rank / all)) + 7) * 1.125;
    const double width = top ? rank + margin : 2 * margin;
    return gr_max((uint64_t)((width + 5 * sqrt(width) + 10) / share) + 2, samples);
}

void gr_order_plan_window(gr_order_planner *self, bool indexed) {
    gr_order_params *params = &self->params;
    gr_program *program = self->program;
    gr_order_buffers *at = &self->at;
    params->samples = samples_of(self->of);
    params->capacity = list_capacity(self->of, params->samples);
    params->flags |= GR_ORDER_SAMPLED;
    const size_t lines = (size_t)params->lines, elements = lines * (size_t)params->capacity;
    at->window = gr_program_buffer(program, GR_BUFFER_TEMPORARY, lines * sizeof(gr_order_window));
    at->list = gr_program_buffer(program, GR_BUFFER_TEMPORARY, elements * self->item);
    at->sample_tickets = gr_program_buffer(program, GR_BUFFER_ZEROED, lines * sizeof(uint32_t));
    if (indexed)
        at->list_indices = gr_program_buffer(program, GR_BUFFER_TEMPORARY, elements * sizeof(uint32_t));
    gr_order_params now = *params;
    now.flags |= self->top ? GR_ORDER_TOPK : 0;
    const uint64_t threads = gr_max(256, gr_min(GR_ORDER_BLOCK_THREADS, params->samples / 8));
    gr_step *step =
        gr_order_launch(self, "sampled", "sample", params->samples / (threads * GR_ORDER_SAMPLES_EACH), &now);
    step->grid[1] = (uint32_t)lines;
    step->block[0] = (uint32_t)threads;
    at->sample_tickets = 0;
    const uint64_t tile = GR_ORDER_TILE * 4 / self->item, tiles = gr_ceil_div(params->length, tile);
    const uint64_t parts = gr_min(gr_ceil_div(gr_order_resident_blocks(), lines), tiles);
    now.flags |= tiles == parts ? GR_ORDER_PREFETCH : 0;
    step = gr_order_launch(self, "sampled", "filter", parts, &now);
    step->grid[1] = (uint32_t)lines;
}

void gr_order_plan_block(gr_order_planner *self) {
    gr_order_params params = self->params;
    params.flags |= (self->top ? GR_ORDER_TOPK : 0) | (self->of->sorted ? GR_ORDER_SORTED_OUTPUT : 0);
    const bool list = params.flags & GR_ORDER_SAMPLED;
    const bool fewer =
        !list && (params.lines <= FEW_LINES || params.lines > gr_reference_device.multiprocessors);
    const uint64_t each = fewer ? 8 : 4, expected = list ? params.capacity / 5 : params.length;
    uint32_t threads = MIN_THREADS;
    const uint64_t found = params.lines <= gr_reference_device.multiprocessors ? params.k : 0;
    while (threads < GR_ORDER_BLOCK_THREADS && (threads * each < expected || threads < found))
        threads *= 2;
    gr_order_launch(self, "sampled", "block", params.lines, &params)->block[0] = threads;
}
