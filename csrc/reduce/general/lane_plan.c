/* Plans launches for results whose elements have lanes: `lanes` for vectors of neighbouring results, `axis`
   and `whole` for any strides. Who takes which lanes changes no bits, so that an estimate of the time
   chooses. */
#include "reduce/general/lane_plan.h"

#include "base/powers.h"
#include "reduce/general/dims.h"
#include "reduce/general/lane_order.h"
#include "reduce/general/launch.h"
#include "reduce/lanes/params.h"

/* Constants of the estimate. They were fitted to 45,000 launches of 9,000 random calls on an H200:
   docs/contributing/design-notes.md. */
enum {
    LARGE_STATE = 8,     /* bytes: larger States take long to combine */
    MAX_TURNS = 256,     /* lanes of a thread, or sets of lanes of a block */
    MAX_PARTS = 2048,    /* that pass 2 combines */
    LATENCY = 900,       /* ns of a turn of loads, at least */
    START = 750,         /* ns that a wave of blocks takes besides */
    SECTORS_PER_NS = 5,  /* that a multiprocessor loads */
    BYTES_PER_NS = 8000, /* that all multiprocessors load */
    LEVEL = 45,          /* ns of a level of the tree of a block */
    SET_LEVELS = 40,     /* levels that take as long as the start of a set of lanes */
    PASS = 1050,         /* ns of pass 2, */
    PASS_LEVEL = 30,     /* and of twice as many parts */
    STATE_BYTES = 16,    /* that pass 2 writes and reads per State */
    PASS_BYTES = 4500,   /* of States per ns */
    ADD = 11,            /* cycles of an element, */
    ADD_BATCH = 33,      /* of an element that `lanes` adds in a batch, */
    ADD_BOUND = 38,      /* and of an element in operators that are bound by arithmetic */
    ADD_THREADS = 128,   /* threads of a multiprocessor that add at once */
    CYCLES_PER_4_NS = 7,
    LINE = 128,        /* bytes of a line of a cache */
    MEMORY_BYTES = 64, /* that memory reads at least */
    MAX_PITCH = 4096,  /* bytes between results, from which on the estimate does not change */
    CACHED = 30000000, /* bytes of all elements, up to which a second read of a line finds it in a cache */
    VECTOR_ROWS = 8,   /* elements of a lane that a thread of `lanes` has in flight, */
    AXIS_ROWS = 16,    /* and one of `axis` */
    LANES_PER_SM = 2,  /* blocks per multiprocessor */
    AXIS_PER_SM = 3,
    MIN_ACROSS = 8, /* vectors of a row that neighbouring threads take, if there are as many */
    MAX_ACROSS = 32,
    SMALL = 1 << 16, /* bytes of all elements up to which vectors have too few threads */
};

/* How a launch shares the lanes of results, and the estimate of its time in ns. */
typedef struct choice {
    uint64_t time;
    const char *kernel;
    uint64_t blocks, parts;
    uint32_t along, turns; /* threads of `axis` per result, and lanes of each */
    gr_lanes lanes;
} choice;

/* What a launch has to do. A thread has `rows` elements of each of `results` results in flight: about as
   many as the kernels, and those with which the constants were fitted. */
typedef struct work {
    uint64_t blocks;       /* of one part */
    unsigned per_sm;       /* blocks that a multiprocessor holds */
    uint64_t threads;      /* of a block that have elements */
    uint64_t count, turns; /* elements per lane, and lanes per thread */
    uint64_t rows, results;
    uint64_t cycles;         /* per element */
    uint64_t loads, sectors; /* loads per row of a thread, and sectors per load of a warp */
    uint64_t used, read;     /* bytes of neighbouring results, and bytes that memory reads for them */
    uint64_t levels;         /* of the tree of a block */
} work;

static bool has_large_state(const gr_layout *layout) {
    return layout->state_bytes > LARGE_STATE;
}

static bool is_slow_to_add(const gr_layout *layout) {
    return has_large_state(layout) || layout->batches || layout->compute_bound || layout->pair;
}

static uint64_t cycles_of(const gr_layout *layout) {
    return layout->compute_bound ? ADD_BOUND : ADD;
}

/* Bytes from an element of a result to the next, or from a result to the next: in the first vector, or in the
   second one if these are more. */
static uint64_t stride_of(const gr_dims *dims, size_t d) {
    return gr_max(gr_magnitude(dims->stride[d]), gr_magnitude(dims->second_stride[d]));
}

/* Bytes from lane to lane; of pairs of neighbours, in the mean. */
static uint64_t lane_stride(const gr_general_params *p) {
    return p->along.extent[1] > 1 ? stride_of(&p->along, 1) / 2 : stride_of(&p->along, 0);
}

/* Loads per element. A second vector that all results share is in caches. */
static uint64_t loads_of(const gr_layout *layout, const gr_general_params *p) {
    return layout->pair && p->keep.second_stride[0] != 0 ? 2 : 1;
}

/* Estimated ns: waves of blocks, in each of which threads load and add up what is in flight, and pass 2. */
static uint64_t time_of(const gr_layout *layout, const gr_general_params *p, const work *w, uint64_t parts) {
    const uint64_t multiprocessors = (uint64_t)gr_reference_device.multiprocessors;
    const uint64_t blocks = w->blocks * parts, most = resident(w->per_sm), at_once = gr_min(blocks, most);
    /* In tenths. Beyond three waves blocks do not end together. */
    const uint64_t waves = blocks < 3 * most ? 10 * gr_ceil_div(blocks, most) : 10 * blocks / most + 5;
    const uint64_t turns = gr_ceil_div(w->count, w->rows) * w->turns, rows = gr_min(w->count, w->rows);
    const uint64_t threads = gr_ceil_div(at_once, multiprocessors) * w->threads;
    const uint64_t sectors = threads * rows * w->loads * w->sectors / (WARP * SECTORS_PER_NS);
    const uint64_t bytes = p->results * p->count * layout->item_bytes * loads_of(layout, p);
    const uint64_t read = bytes > CACHED ? bytes / w->used * w->read : bytes;
    const uint64_t memory = read / turns * at_once / (blocks * BYTES_PER_NS);
    const uint64_t adds =
        rows * w->results * w->cycles * gr_max(threads, ADD_THREADS) * 4 / (ADD_THREADS * CYCLES_PER_4_NS);
    const uint64_t turn = gr_max(gr_max(sectors, memory), LATENCY) + adds;
    const uint64_t pass = parts > 1 ? PASS + PASS_LEVEL * gr_log2((uint32_t)parts) +
                                          parts * p->results * STATE_BYTES / PASS_BYTES
                                    : 0;
    return waves * (turns * turn + w->levels * LEVEL + START) / 10 + pass;
}

/* Sectors that a load of a warp touches: `rows` rows of `bytes`, which begin `apart` bytes from each other. A
   row touches up to one sector more at either end; lines of four sectors are loaded faster. */
static uint64_t sectors_of(uint64_t bytes, uint64_t rows, uint64_t apart) {
    const uint64_t one = bytes / SECTOR_BYTES + 3;
    return gr_min(rows * one, (rows - 1) * apart / SECTOR_BYTES + one);
}

/* ---- lanes ---- */

/* Bytes that memory reads for `used` bytes in rows of `bytes`, which begin `apart` bytes from each other. */
static uint64_t read_of(uint64_t bytes, uint64_t used, uint64_t apart) {
    return gr_min(bytes + MEMORY_BYTES, gr_max(apart, used));
}

/* Parts from which on a launch is tried, of `all` lanes or sets of lanes; `enough` blocks fill the device. */
static uint32_t least_parts(uint32_t all, uint32_t enough) {
    return (uint32_t)gr_max(gr_max(enough / 2, 1), gr_ceil_div(all, MAX_TURNS));
}

/* Tries groups of 2^lane_bits rows with several numbers of parts. Rows begin between two vectors if they are
   not `aligned`. */
static void try_groups(const gr_layout *layout, const gr_general_params *p, gr_lanes c, bool aligned,
                       uint32_t lanes, choice *best) {
    const uint64_t vector = column_vector(layout);
    const uint64_t row = c.is_sequence ? (uint64_t)c.columns << c.lane_bits : c.columns;
    c.vectors = (uint32_t)gr_ceil_div(row + (aligned ? 0 : vector - 1), vector);
    c.threads = c.is_sequence ? c.vectors : c.vectors << c.lane_bits;
    if (c.threads > GR_GENERAL_THREADS)
        return;
    c.groups = GR_GENERAL_THREADS / c.threads;
    c.period = gr_ceil_div(c.width, c.columns);
    c.slots = c.period * (p->results / c.width);
    work w = {
        .blocks = gr_ceil_div(c.slots, c.groups),
        .per_sm = LANES_PER_SM,
        .threads = gr_min(c.groups, c.slots) * c.threads,
        .count = c.each + (c.rest > 0),
        .rows = VECTOR_ROWS,
        .results = vector,
        .cycles = layout->batches ? ADD_BATCH : cycles_of(layout),
        .loads = 1,
    };
    const uint64_t bytes = c.columns * layout->item_bytes, down = gr_ceil_div(WARP, gr_min(c.vectors, WARP));
    w.used = c.is_sequence ? 1 : bytes;
    const uint32_t all = lanes >> c.lane_bits;
    const uint32_t enough = gr_power_of_two_from(gr_ceil_div(resident(LANES_PER_SM), w.blocks), all);
    const bool scattered = p->flags & GR_SCATTERED_OUTPUT;
    const uint32_t least = least_parts(all, enough);
    for (uint32_t parts = least; parts <= gr_min(all, gr_max(least, 4 * enough)); parts *= 2) {
        if (parts > MAX_PARTS)
            break;
        w.turns = all / parts;
        w.levels = c.in_sets ? (c.lane_bits + SET_LEVELS) * w.turns : c.lane_bits + 2;
        const uint64_t apart = lane_stride(p) * (c.in_sets ? 1 : w.turns);
        w.sectors = c.is_sequence ? sectors_of(WARP * GR_VECTOR_BYTES, 1, 0) : sectors_of(bytes, down, apart);
        w.read = c.is_sequence ? 1 : read_of(bytes, bytes, apart);
        const uint64_t time = time_of(layout, p, &w, parts) + (scattered && parts == 1 ? PASS : 0u);
        if (time >= best->time || w.blocks > GR_MAX_GRID)
            continue;
        c.turn_bits = gr_log2(all / parts);
        *best = (choice){.time = time, .kernel = "lanes", .blocks = w.blocks, .parts = parts, .lanes = c};
    }
}

/* Sets of lanes whose rows are contiguous, and count as one row. */
static void try_sequences(const gr_layout *layout, const gr_general_params *p, gr_lanes c, bool starts,
                          uint32_t lanes, choice *best) {
    const uint64_t vector = column_vector(layout), row = c.width * layout->item_bytes;
    c.in_sets = c.is_sequence = 1;
    c.columns = (uint32_t)c.width;
    const uint32_t unaligned = gr_power_of_two_up_to((GR_GENERAL_THREADS - 1) * vector / c.width, lanes);
    const uint32_t full = gr_power_of_two_up_to(GR_GENERAL_THREADS * vector / c.width, lanes);
    for (uint32_t down = full; down >= 1 && down * 2 >= unaligned; down /= 2) {
        c.lane_bits = gr_log2(down);
        try_groups(layout, p, c, starts && row * down % (vector * layout->item_bytes) == 0, lanes, best);
    }
}

static void try_lanes(const gr_layout *layout, const gr_general_params *p, uint32_t lanes, choice *best) {
    const uint64_t item = layout->item_bytes, width = p->keep.extent[0];
    const uint64_t vector = column_vector(layout), bytes = vector * item;
    const int64_t stride = p->along.stride[0];
    const bool starts = starts_aligned(layout, &p->keep, 1, bytes);
    const bool aligned = starts && width % vector == 0 && stride % (int64_t)bytes == 0;
    gr_lanes c = {
        .width = width, .each = p->count / lanes, .rest = p->count % lanes, .step = lanes * (uint64_t)stride};
    /* See takes_sets in lane_columns.cuh: elements of a lane are whole vectors apart. */
    const bool takes_sets = !has_large_state(layout) && c.step % bytes == 0;
    if (takes_sets && stride == (int64_t)(width * item) && width <= GR_GENERAL_THREADS * vector / 2)
        try_sequences(layout, p, c, starts, lanes, best);
    if (!aligned && !takes_sets)
        return;
    /* Rows are cut into neighbouring pieces of one size. */
    c.in_sets = !aligned;
    for (uint64_t across = MIN_ACROSS; across <= MAX_ACROSS; across *= 2) {
        const uint64_t pieces = gr_ceil_div(width, across * vector), piece = gr_ceil_div(width, pieces);
        c.columns = (uint32_t)(aligned ? gr_ceil_div(piece, vector) * vector : piece);
        const uint64_t vectors = gr_ceil_div(c.columns + (aligned ? 0 : vector - 1), vector);
        c.lane_bits = gr_log2(gr_power_of_two_up_to(GR_GENERAL_THREADS / vectors, lanes));
        try_groups(layout, p, c, aligned, lanes, best);
        if (pieces == 1)
            break;
    }
}

/* ---- any strides ---- */

/* Sets what a warp and memory read for `columns` neighbouring results of a block. `apart`: bytes between the
   elements of one result that neighbouring threads load; 0 if a thread has whole results. */
static void set_reads(const gr_general_params *p, uint64_t item, uint64_t columns, uint64_t apart, work *w) {
    const uint64_t next = gr_min(stride_of(&p->keep, 0), MAX_PITCH),
                   here = gr_min(columns, p->keep.extent[0]);
    const uint64_t across = gr_min(columns, WARP), side = gr_max(gr_min(here, WARP) * next, item);
    const uint64_t runs = gr_ceil_div(across, gr_min(across, here));
    const uint64_t row = apart > 0 ? apart : lane_stride(p);
    w->sectors = gr_min(runs * sectors_of(side, WARP / across, apart), 4 * WARP);
    w->used = here * item;
    w->read = read_of(here * next, w->used, apart > 0 || row < SECTOR_BYTES ? row : UINT64_MAX);
}

/* The same for neighbouring threads with neighbouring elements of one result, `apart` bytes from each other.
   A warp of 32 such threads loads `apart` sectors, up to the 128 of 32 lines. */
static void set_row_reads(uint64_t apart, uint64_t item, work *w) {
    w->sectors = gr_max(4, gr_min(apart, LINE));
    w->used = item;
    w->read = gr_max(item, gr_min(apart, SECTOR_BYTES));
}

/* Blocks of `axis` per multiprocessor: as axis_occupancy, pair_axis_occupancy and GR_AXIS in cuda_kernels. */
static unsigned axis_per_sm(const gr_layout *layout) {
    return (layout->pair ? layout->item_bytes > 4 : layout->only_axis || has_large_state(layout))
               ? AXIS_PER_SM - 1
               : AXIS_PER_SM;
}

static void try_axis(const gr_layout *layout, const gr_general_params *p, uint32_t along, bool along_first,
                     uint32_t lanes, choice *best) {
    const uint64_t columns = GR_GENERAL_THREADS / along;
    work w = {
        .blocks = gr_ceil_div(p->results, columns),
        .per_sm = axis_per_sm(layout),
        .threads = gr_min(columns, p->results) * along,
        .count = gr_ceil_div(p->count, lanes),
        .rows = layout->item_bytes > 8                             ? AXIS_ROWS / 4
                : layout->item_bytes > 4 || is_slow_to_add(layout) ? AXIS_ROWS / 2
                                                                   : AXIS_ROWS,
        .results = 1,
        .cycles = cycles_of(layout) / (layout->item_bytes == 2 ? 2 : 1), /* fitted: half of them */
        .loads = loads_of(layout, p),
        .levels = gr_log2(along) + 1,
    };
    const uint32_t all = lanes / along;
    const uint32_t enough = gr_power_of_two_from(gr_ceil_div(resident(w.per_sm), w.blocks), all);
    /* If neighbouring threads have neighbouring lanes of one result, these are one lane each. */
    const uint32_t least = along_first ? all : least_parts(all, enough);
    const uint32_t most = (uint32_t)gr_min(all, 2 * enough);
    for (uint32_t parts = least; parts <= all; parts = parts < all && parts >= most ? all : 2 * parts) {
        if (parts > MAX_PARTS)
            break;
        w.turns = all / parts;
        if (along_first)
            set_row_reads(lane_stride(p), layout->item_bytes, &w);
        else
            set_reads(p, layout->item_bytes, columns, along > 1 ? lane_stride(p) * w.turns : 0, &w);
        const uint64_t time = time_of(layout, p, &w, parts);
        if (time >= best->time || w.blocks > GR_MAX_GRID)
            continue;
        *best = (choice){.time = time,
                         .kernel = "axis",
                         .blocks = w.blocks,
                         .parts = parts,
                         .along = along,
                         .turns = all / parts};
    }
}

static void try_whole(const gr_layout *layout, const gr_general_params *p, choice *best) {
    const uint64_t each = GR_RESULTS_PER_THREAD, item = layout->item_bytes;
    work w = {
        .blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS * each),
        .per_sm = AXIS_PER_SM,
        .threads = gr_min(GR_GENERAL_THREADS, gr_ceil_div(p->results, each)),
        .count = p->count,
        .turns = 1,
        .rows = item > 8 || layout->pair ? 2
                : item > 2               ? 4
                                         : 8,
        .results = each,
        .cycles = cycles_of(layout),
        .loads = each * loads_of(layout, p),
        .levels = 1,
    };
    set_reads(p, item, GR_GENERAL_THREADS, 0, &w);
    const uint64_t time = time_of(layout, p, &w, 1);
    if (time < best->time && w.blocks <= GR_MAX_GRID)
        *best = (choice){.time = time, .kernel = "whole", .blocks = w.blocks, .parts = 1, .turns = 1};
}

static void try_all_axis(const gr_layout *layout, const gr_general_params *p, bool along_first,
                         uint32_t lanes, choice *best) {
    const uint32_t most = gr_power_of_two_up_to(lanes, GR_GENERAL_THREADS);
    if (along_first) {
        try_axis(layout, p, most, true, lanes, best);
        return;
    }
    /* A block has at most as many neighbouring results as fill two lines. */
    const uint64_t wide = gr_min(p->results, 2 * LINE / gr_min(layout->item_bytes, LINE));
    const uint32_t least = GR_GENERAL_THREADS / gr_power_of_two_from(wide, GR_GENERAL_THREADS);
    for (uint32_t along = most; along > 0 && (along == most || along >= least); along /= 2)
        try_axis(layout, p, along, false, lanes, best);
}

/* ---- the choice ---- */

/* Fills in what the kernel `lanes` needs besides. */
static void finish_lanes(const gr_layout *layout, gr_general_params *p) {
    gr_lanes *c = &p->lanes;
    c->high = (int64_t)layout->item_bytes;
    gr_dims_bounds(&p->keep, &c->low, &c->high);
    gr_dims_bounds(&p->along, &c->low, &c->high);
    c->by_period = gr_fast_divmod_of(gr_max(c->period, 2));
    c->by_columns = c->columns > 1 ? (uint32_t)(((uint64_t)1 << 32) / c->columns + 1) : 0;
    c->by_vectors = (1u << 16) / c->vectors + 1;
    c->by_threads = (1u << 16) / c->threads + 1;
}

bool gr_lanes_plan(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint32_t lanes = gr_lanes_of(p->count);
    const bool along_first = p->results == 1 || lane_stride(p) <= stride_of(&p->keep, 0);
    choice best = {.time = UINT64_MAX};
    const bool masked = is_masked(layout), single = p->along.extent[1] == 1;
    const bool has_vectors = layout->packed && !layout->only_rows && !layout->has_second && single &&
                             p->keep.extent[0] > 1 && p->keep.stride[0] == (int64_t)layout->item_bytes;
    if (has_vectors && p->results * p->count * layout->item_bytes > SMALL)
        try_lanes(layout, p, lanes, &best);
    try_all_axis(layout, p, along_first, lanes, &best);
    if (lanes == 1 && !layout->batches && !masked && !layout->only_axis)
        try_whole(layout, p, &best);
    if (best.time == UINT64_MAX)
        return false;
    launch->of_lanes = true;
    set_launch(launch, best.kernel, best.blocks, best.parts);
    p->lanes = best.lanes;
    if (best.lanes.threads > 0) {
        launch->writes_states = p->flags & GR_SCATTERED_OUTPUT;
        finish_lanes(layout, p);
        return true;
    }
    p->threads_along = best.along > 0 ? best.along : 1;
    p->groups = 1;
    p->flags |= gr_log2(best.turns) << GR_LANES_SHIFT | (along_first ? GR_COALESCE_ALONG_REDUCED : 0u) |
                (masked || !single ? 0u : GR_IN_LANES);
    p->iterator = gr_dims_iterator(&p->along, lanes);
    p->lanes = (gr_lanes){
        .each = p->count / lanes, .rest = p->count % lanes, .step = lanes * (uint64_t)p->along.stride[0]};
    return true;
}
