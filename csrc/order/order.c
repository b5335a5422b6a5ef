/* Planner of order statistics: radix select by blocks or across blocks, gather of the first k elements,
   their sort, and interpolation of quantiles. */
#include "order/order.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/limits.h"
#include "executor/executor.h"

enum {
    HELD = 31744,  /* bytes of a line that a block holds */
    FEW = 2,       /* ranks for which there are bins for a large digit */
    SMALL = 32,    /* elements of a line of which a warp takes several */
    NETWORK = 128, /* elements of a line that are sorted by a network */
    WHOLE = 16,    /* of so many bytes of a line one element is kept, where to sort it all is as fast */
    WHOLE_FEWER = 32,
    WAVES = 4,             /* of blocks that are there at once */
    MANY_LINES = 2,        /* of a multiprocessor: a block takes a line then, whatever its length */
    MAX_ZEROED = 64 << 10, /* bytes that are kept for the next call */
    MOST_DOWN = 65535,     /* blocks along y */
};

_Static_assert((int)NETWORK <= (int)GR_ORDER_FEW,
               "longer lines may be sorted as they are, which is not in place");

/* What is peculiar to a dtype. */
typedef struct kind {
    const char *kernel; /* by the bits of a key */
    uint64_t infinity;
    bool has_sign;
} kind;

static kind kind_of(gr_dtype dtype) {
    static const char *const by_bytes[] = {[1] = "b8", [2] = "b16", [4] = "b32", [8] = "b64"};
    kind of = {.kernel = by_bytes[gr_dtypes[dtype].item_bytes]};
    switch (dtype) {
    case GR_DTYPE_f16:
        of.infinity = 0x7c00;
        break;
    case GR_DTYPE_bf16:
        of.infinity = 0x7f80;
        break;
    case GR_DTYPE_f32:
        of.infinity = 0x7f800000;
        break;
    case GR_DTYPE_f64:
        of.infinity = 0x7ff0000000000000;
        break;
    case GR_DTYPE_i8:
    case GR_DTYPE_i16:
    case GR_DTYPE_i32:
    case GR_DTYPE_i64:
        of.has_sign = true;
        break;
    default:
        break;
    }
    return of;
}

bool gr_order_takes(gr_dtype dtype) {
    return dtype != GR_DTYPE_c64 && dtype != GR_DTYPE_c128;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Blocks that are there at once. */
static uint64_t blocks(void) {
    return (uint64_t)gr_reference_device.multiprocessors * GR_ORDER_BLOCKS;
}

/* The buffers that launches are told of: 0, which is that of the elements, where there is none. */
typedef struct workspace {
    uint32_t in, ranks, out, indices, states, bins, tickets, counts;
} workspace;

/* Buffers of elements, and of their indices. */
typedef struct places {
    uint32_t elements, indices;
} places;

typedef struct planned {
    const gr_ordering *of;
    gr_program *program;
    gr_order_params params;
    kind kind;
    workspace at;
    bool top;
} planned;

static gr_step *launch(planned *self, const char *file, const char *kernel, const gr_order_params *params) {
    gr_program *program = self->program;
    const workspace *at = &self->at;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    step->block[0] = GR_ORDER_THREADS;
    step->pdl = true;
    step->kernel.owner = self->top ? "topk" : "quantile";
    GR_KERNEL_NAME(step->kernel.file, "order_", file);
    GR_KERNEL_NAME(step->kernel.entry, "order_", kernel, "_", self->kind.kernel);
    const struct {
        size_t offset;
        uint32_t buffer;
    } pointers[] = {
        {offsetof(gr_order_params, ranks), at->ranks},     {offsetof(gr_order_params, out), at->out},
        {offsetof(gr_order_params, indices), at->indices}, {offsetof(gr_order_params, states), at->states},
        {offsetof(gr_order_params, bins), at->bins},       {offsetof(gr_order_params, tickets), at->tickets},
        {offsetof(gr_order_params, counts), at->counts},
    };
    gr_program_relocate(program, offsetof(gr_order_params, in), at->in);
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; ++i)
        if (pointers[i].buffer != 0)
            gr_program_relocate(program, pointers[i].offset, pointers[i].buffer);
    return step;
}

/* How lines are cut into parts, for as many blocks as there is room for. */
static void cut(gr_order_params *params) {
    const uint64_t most = gr_ceil_div(blocks(), params->lines);
    const uint64_t tiles = gr_ceil_div(params->length, GR_ORDER_TILE);
    params->part = gr_ceil_div(tiles, most) * GR_ORDER_TILE;
    params->parts = gr_ceil_div(params->length, params->part);
}

/* One launch, a warp a line, or a few lanes of it. */
static void plan_small(planned *self) {
    gr_order_params params = self->params;
    const bool small = params.length <= SMALL;
    while (1u << params.bits < least(params.length, SMALL))
        ++params.bits;
    params.flags |= (self->top ? GR_ORDER_TOP : 0) | (self->of->sorted ? GR_ORDER_RANKED : 0);
    gr_step *step = launch(self, "small", small ? "small" : "few", &params);
    const uint64_t of_block = GR_ORDER_THREADS >> params.bits;
    step->grid[0] = (uint32_t)least(gr_ceil_div(params.lines, of_block), blocks() * WAVES);
}

/* One launch, a block a line. */
static void plan_rows(planned *self, uint32_t item) {
    gr_order_params params = self->params;
    const bool held = params.length * item <= HELD;
    uint32_t threads = 32;
    while (threads < GR_ORDER_THREADS && threads * 8u < params.length)
        threads *= 2;
    params.chunk = least(params.rank_count, GR_ORDER_RANKS);
    params.bits = !held && params.chunk <= FEW ? GR_ORDER_BITS : GR_ORDER_MANY_BITS;
    params.flags |= (held ? GR_ORDER_HELD : 0) | (self->top ? GR_ORDER_TOP : 0);
    gr_step *step = launch(self, "select", "rows", &params);
    step->grid[0] = (uint32_t)least(params.lines, GR_MAX_GRID);
    step->block[0] = threads;
    step->shared_bytes = (uint32_t)((params.chunk << params.bits) * sizeof(uint32_t));
    step->shared_bytes += held ? (uint32_t)(params.length * item) : 0;
}

/* Memory between launches. What is zero at first is zero behind them, too. */
static void make_rooms(planned *self, uint32_t bits) {
    static const unsigned char zero = 0;
    const gr_order_params *params = &self->params;
    gr_program *program = self->program;
    workspace *at = &self->at;
    const size_t chunks = (size_t)(params->lines * gr_ceil_div(params->rank_count, params->chunk));
    const size_t bytes = (chunks * params->chunk << bits) * sizeof(uint64_t),
                 tickets = chunks * 2 * sizeof(uint32_t);
    const bool kept = bytes + tickets <= MAX_ZEROED;
    const gr_buffer_kind memory = kept ? GR_BUFFER_ZEROED : GR_BUFFER_TEMPORARY;
    const uint32_t cleared[] = {
        at->bins = gr_program_buffer(program, memory, bytes),
        at->tickets = gr_program_buffer(program, memory, tickets),
    };
    at->states = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                   (size_t)(params->lines * params->rank_count) * sizeof(gr_order_state));
    for (size_t i = 0; !kept && i < sizeof cleared / sizeof cleared[0]; ++i)
        gr_program_step(program, GR_STEP_MEMSET, &zero, sizeof zero)->buffer = cleared[i];
}

/* A launch for each digit, several blocks a line. */
static void plan_digits(planned *self, uint32_t item) {
    gr_order_params *params = &self->params;
    params->chunk = least(params->rank_count, GR_ORDER_RANKS);
    const uint32_t most = params->chunk <= FEW ? GR_ORDER_BITS : GR_ORDER_MANY_BITS;
    const uint32_t width = item * 8, digits = (width + most - 1) / most;
    cut(params);
    make_rooms(self, (width + digits - 1) / digits);
    params->flags |= self->top ? GR_ORDER_TOP : 0;
    uint32_t left = width;
    for (uint32_t i = 0; i < digits; ++i) {
        gr_order_params now = *params;
        now.bits = (left + digits - i - 1) / (digits - i);
        left -= now.bits;
        now.shift = left;
        now.flags |= (i == 0 ? GR_ORDER_FIRST : 0) | (left == 0 ? GR_ORDER_LAST : 0);
        gr_step *step = launch(self, "select", "digit", &now);
        step->grid[0] = (uint32_t)params->parts;
        step->grid[1] = (uint32_t)params->lines;
        step->grid[2] = (uint32_t)gr_ceil_div(params->rank_count, params->chunk);
        const size_t counting = (params->chunk << now.bits) * sizeof(uint32_t),
                     finding = ((size_t)1 << now.bits) * sizeof(uint64_t);
        step->shared_bytes = (uint32_t)(counting > finding ? counting : finding);
    }
}

static void plan_gather(planned *self) {
    gr_order_params params = self->params;
    self->at.counts = gr_program_buffer(self->program, GR_BUFFER_TEMPORARY,
                                        (size_t)(params.lines * params.parts) * 2 * sizeof(uint64_t));
    for (int counted = 0; counted < 2; ++counted) {
        params.flags = self->params.flags | (counted ? 0 : GR_ORDER_COUNT);
        gr_step *step = launch(self, "top", "gather", &params);
        step->grid[0] = (uint32_t)params.parts;
        step->grid[1] = (uint32_t)params.lines;
    }
}

/* By a warp or a block each, in place, in which few elements change places. */
static void plan_network(planned *self, places at) {
    self->at = (workspace){.out = at.elements, .indices = at.indices};
    uint32_t threads = 32;
    while (threads * (GR_ORDER_NETWORK / GR_ORDER_THREADS) < self->params.k && threads < GR_ORDER_THREADS)
        threads *= 2;
    gr_step *step = launch(self, "top", "sort", &self->params);
    step->grid[0] = (uint32_t)least(self->params.lines, GR_MAX_GRID);
    step->block[0] = threads;
}

static gr_step *launch_sort(planned *self, const char *kernel, const gr_order_sorting *params, places from,
                            places to) {
    gr_program *program = self->program;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    step->block[0] = GR_ORDER_THREADS;
    step->pdl = true;
    step->kernel.owner = "topk";
    GR_KERNEL_NAME(step->kernel.file, "order_sort");
    GR_KERNEL_NAME(step->kernel.entry, "order_", kernel, "_", self->kind.kernel);
    gr_program_relocate(program, offsetof(gr_order_sorting, in), from.elements);
    if (from.indices != 0)
        gr_program_relocate(program, offsetof(gr_order_sorting, places), from.indices);
    gr_program_relocate(program, offsetof(gr_order_sorting, out), to.elements);
    gr_program_relocate(program, offsetof(gr_order_sorting, indices), to.indices);
    return step;
}

/* One launch, a block a line. */
static void plan_tiles(planned *self, const gr_order_sorting *params, places from, places to) {
    const bool fewer = params->length <= GR_ORDER_FEWER;
    const uint32_t each = (fewer ? GR_ORDER_FEWER : GR_ORDER_SORTED) / GR_ORDER_THREADS;
    gr_step *step = launch_sort(self, fewer ? "fewer" : "tile", params, from, to);
    step->grid[0] = (uint32_t)least(params->lines, GR_MAX_GRID);
    step->block[0] = 32;
    while (step->block[0] * each < params->length)
        step->block[0] *= 2;
}

/* Three launches a digit, the last of which takes elements to and fro until they are where they are to be. */
static void plan_moves(planned *self, gr_order_sorting params, uint32_t digits, places from, places to,
                       places other) {
    gr_program *program = self->program;
    const uint64_t rows = params.lines * GR_ORDER_DIGITS;
    params.tiles = gr_ceil_div(params.length, GR_ORDER_SORTED);
    const uint32_t counts =
        gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(rows * params.tiles) * sizeof(uint64_t));
    const uint32_t sums = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)rows * sizeof(uint64_t));
    for (uint32_t i = 0; i < digits; ++i) {
        static const char *const kernels[] = {"tally", "sums", "move"};
        const places next = (digits - i) % 2 == 1 ? to : other;
        params.shift = i * 8;
        for (size_t j = 0; j < sizeof kernels / sizeof kernels[0]; ++j) {
            gr_step *step = launch_sort(self, kernels[j], &params, from, next);
            gr_program_relocate(program, offsetof(gr_order_sorting, counts), counts);
            gr_program_relocate(program, offsetof(gr_order_sorting, sums), sums);
            const bool adds = j == 1;
            const uint64_t all =
                adds ? gr_ceil_div(rows, GR_ORDER_THREADS / 32) : params.lines * params.tiles;
            step->grid[0] = (uint32_t)least(all, GR_MAX_GRID);
        }
        from = next;
    }
}

/* How often the elements of a line are written while they are sorted, if not in place. */
static uint32_t moved(uint64_t length, size_t item) {
    return length <= NETWORK ? 0 : length <= GR_ORDER_SORTED ? 1 : (uint32_t)item;
}

/* Sorts lines of `length` elements, of which the first `k` are kept. */
static void plan_sort(planned *self, uint64_t length, places from, places to, places other) {
    const gr_order_params *own = &self->params;
    const gr_order_sorting params = {
        .lines = own->lines,
        .length = length,
        .k = own->k,
        .infinity = own->infinity,
        .flags = own->flags,
    };
    const uint32_t times = moved(length, gr_dtypes[self->of->dtype].item_bytes);
    if (times == 0)
        plan_network(self, from);
    else if (length <= GR_ORDER_SORTED)
        plan_tiles(self, &params, from, to);
    else
        plan_moves(self, params, times, from, to, other);
}

/* Whether lines are sorted as they are, and not only what is to be kept of them. That pays the earlier the
   fewer digits there are: bytes are sorted at once. */
static bool is_sorted_whole(const gr_ordering *self) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t least_kept = self->length * item / (self->length <= GR_ORDER_FEWER ? WHOLE_FEWER : WHOLE);
    const bool fits = self->length <= GR_ORDER_SORTED && (item == 1 || self->k >= least_kept);
    return self->sorted && (fits || self->k == self->length);
}

static void plan_valids(planned *self) {
    static const unsigned char zero = 0;
    gr_order_params *params = &self->params;
    cut(params);
    params->flags |= GR_ORDER_VALID;
    gr_program_step(self->program, GR_STEP_MEMSET, &zero, sizeof zero)->buffer = self->at.out;
    gr_step *step = launch(self, "top", "gather", params);
    step->grid[0] = (uint32_t)params->parts;
    step->grid[1] = (uint32_t)least(params->lines, MOST_DOWN);
}

static bool is_in_rows(const gr_ordering *self) {
    return self->length * gr_dtypes[self->dtype].item_bytes <= HELD ||
           self->lines >= (uint64_t)gr_reference_device.multiprocessors * MANY_LINES;
}

static void plan_firsts(planned *self, size_t item) {
    gr_order_params *params = &self->params;
    const gr_ordering *of = self->of;
    gr_program *program = self->program;
    const size_t results = (size_t)(of->lines * of->k);
    const places in = {.elements = self->at.in},
                 out = {.elements = self->at.out, .indices = gr_program_input(program, 1)};
    params->k = of->k;
    params->rank_count = 1;
    params->flags |= GR_ORDER_EQUAL | (of->largest ? GR_ORDER_LARGEST : 0);
    if (of->length <= GR_ORDER_FEW) {
        self->at.indices = out.indices;
        plan_small(self);
        return;
    }
    const bool whole = is_sorted_whole(of);
    const uint32_t times = moved(whole ? of->length : of->k, item);
    places other = {0};
    if (of->sorted && times > whole) {
        other.elements = gr_program_buffer(program, GR_BUFFER_TEMPORARY, results * item);
        other.indices = gr_program_buffer(program, GR_BUFFER_TEMPORARY, results * sizeof(int64_t));
    }
    if (whole) {
        plan_sort(self, of->length, in, out, other);
        return;
    }
    const places found = of->sorted && times % 2 == 1 ? other : out;
    if (is_in_rows(of)) {
        self->at.out = found.elements;
        self->at.indices = found.indices;
        plan_rows(self, (uint32_t)item);
    } else {
        self->at.out = 0;
        plan_digits(self, (uint32_t)item);
        self->at = (workspace){.states = self->at.states, .out = found.elements, .indices = found.indices};
        plan_gather(self);
    }
    if (of->sorted)
        plan_sort(self, of->k, found, out, other);
}

/* Makes results of the elements in `at.out`. */
static void plan_ends(planned *self, uint32_t out) {
    const gr_ordering *of = self->of;
    gr_order_ends ends = *of->ends;
    ends.lines = of->lines;
    ends.ranks = of->ranks;
    ends.from = (uint32_t)of->dtype;
    gr_step *step = gr_program_step(self->program, GR_STEP_LAUNCH, &ends, sizeof ends);
    step->grid[0] = (uint32_t)least(gr_ceil_div(ends.lines * ends.results, GR_ORDER_THREADS), GR_MAX_GRID);
    step->block[0] = GR_ORDER_THREADS;
    step->pdl = true;
    step->kernel.owner = "quantile";
    GR_KERNEL_NAME(step->kernel.file, "order_between");
    GR_KERNEL_NAME(step->kernel.entry, "order_between");
    gr_program_relocate(self->program, offsetof(gr_order_ends, in), self->at.out);
    gr_program_relocate(self->program, offsetof(gr_order_ends, out), out);
}

static void plan_select(planned *self, size_t item) {
    const gr_ordering *of = self->of;
    gr_order_params *params = &self->params;
    const uint32_t out = self->at.out;
    if (of->given != NULL) {
        params->flags |= GR_ORDER_GIVEN;
        for (uint64_t i = 0; i < of->ranks; ++i)
            params->given[i] = (uint64_t)of->given[i];
    } else {
        self->at.ranks = gr_program_input(self->program, 1);
    }
    if (of->ends != NULL)
        self->at.out =
            gr_program_buffer(self->program, GR_BUFFER_TEMPORARY, (size_t)(of->lines * of->ranks) * item);
    if (of->length <= GR_ORDER_FEW)
        plan_small(self);
    else if (is_in_rows(of))
        plan_rows(self, (uint32_t)item);
    else
        plan_digits(self, (uint32_t)item);
    if (of->ends != NULL)
        plan_ends(self, out);
}

/* The dtype of the results, and how many a line has. */
static gr_dtype dtype_of(const gr_ordering *self) {
    if (self->task == GR_ORDER_VALIDS)
        return GR_DTYPE_i64;
    return self->ends != NULL ? (gr_dtype)self->ends->to : self->dtype;
}

static uint64_t results_of(const gr_ordering *self) {
    if (self->task == GR_ORDER_SELECT)
        return self->ends != NULL ? self->ends->results : self->ranks;
    return self->task == GR_ORDER_FIRSTS ? self->k : 1;
}

void gr_order_plan(const gr_ordering *self, gr_program *program) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const kind of = kind_of(self->dtype);
    planned plan = {
        .of = self,
        .program = program,
        .params = {.lines = self->lines,
                   .length = self->length,
                   .rank_count = self->ranks,
                   .infinity = of.infinity,
                   .flags = (of.has_sign ? GR_ORDER_SIGNED : 0) |
                            (self->dtype == GR_DTYPE_b8 ? GR_ORDER_TRUTH : 0) |
                            (self->own ? GR_ORDER_OWN : 0)},
        .kind = of,
        .top = self->task == GR_ORDER_FIRSTS,
    };
    if (self->nans && of.infinity != 0)
        plan.params.flags |= GR_ORDER_NANS;
    gr_program_begin(program);
    plan.at.in = gr_program_input(program, 0);
    plan.at.out =
        gr_program_buffer(program, GR_BUFFER_OUTPUT,
                          (size_t)(self->lines * results_of(self)) * gr_dtypes[dtype_of(self)].item_bytes);
    if (self->task == GR_ORDER_VALIDS) {
        plan_valids(&plan);
    } else if (plan.top) {
        plan_firsts(&plan, item);
    } else {
        plan_select(&plan, item);
    }
}

gr_status gr_order_run(gr_device *device, const gr_ordering *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    gr_order_plan(self, program);
    const gr_status status = gr_execute_program(device, program, binding, interrupt, error);
    free(program);
    return status;
}
