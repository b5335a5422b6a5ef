/* Plans launches for results whose elements have lanes: `lanes` for vectors of neighbouring results, `axis`
   and `whole` for any strides. Who takes which lanes changes no bits, so that an estimate of the time
   chooses. */
#include "reduce/general/lane_plan.h"

#include "base/powers.h"
#include "reduce/general/dims.h"
#include "reduce/general/lane_order.h"
#include "reduce/general/launch.h"
#include "reduce/lanes/params.h"

/* Measured on an H200: benchmarks/results/columns_order_h200.json. */
enum {
    LARGE_STATE = 8,     /* bytes: larger States take long to combine */
    MAX_TURNS = 256,     /* lanes of a thread, or sets of lanes of a block */
    MAX_PARTS = 2048,    /* that pass 2 combines */
    LATENCY = 1400,      /* ns of a turn of loads */
    LEVEL = 40,          /* ns of a level of the tree of a block */
    SET_LEVELS = 3,      /* as long as starting a set of lanes takes */
    PASS = 1200,         /* ns of pass 2, */
    PASS_LEVEL = 60,     /* and of twice as many parts */
    BYTES_PER_NS = 4500, /* of all multiprocessors */
    STATE_BYTES = 16,    /* that pass 2 writes and reads per State */
    LINE = 128,          /* bytes that neighbouring threads should read */
    VECTOR_ROWS = 8,     /* elements of a lane that a thread of `lanes` has in flight, */
    AXIS_ROWS = 16,      /* and one of `axis` */
    LANES_PER_SM = 2,    /* blocks per multiprocessor */
    AXIS_PER_SM = 4,
    MIN_ACROSS = 8, /* vectors of a row that neighbouring threads take, if there are as many */
    MAX_ACROSS = 32,
    LARGE = 1 << 23, /* bytes of all elements, from which vectors pay, */
    SMALL = 1 << 16, /* and up to which they have too few threads */
};

/* How a launch shares the lanes of results, and the estimate of its time in ns. */
typedef struct choice {
    uint64_t time;
    const char *kernel;
    uint64_t blocks, parts;
    uint32_t along, turns; /* threads of `axis` per result, and lanes of each */
    gr_lanes lanes;
} choice;

/* What the blocks of a launch have to do: threads have `rows` elements of each of `elements` results in
   flight, and a block `bytes` of one row. */
typedef struct work {
    uint64_t blocks;
    unsigned per_sm;
    uint64_t count, turns; /* elements per lane, and lanes per thread */
    uint64_t rows, elements, bytes;
    uint64_t waste; /* tenths */
    uint64_t levels;
} work;

static bool has_large_state(const gr_layout *layout) {
    return layout->state_bytes > LARGE_STATE;
}

static bool is_slow_to_add(const gr_layout *layout) {
    return has_large_state(layout) || layout->batches || layout->compute_bound;
}

/* Estimated ns: waves of blocks, in each of which threads load and add up what is in flight, and pass 2. */
static uint64_t time_of(const gr_layout *layout, const gr_general_params *p, const work *w, uint64_t parts) {
    const uint64_t multiprocessors = (uint64_t)gr_reference_device.multiprocessors;
    const uint64_t blocks = w->blocks * parts, most = resident(w->per_sm);
    const uint64_t waves = gr_ceil_div(blocks, most), at_once = gr_min(blocks, most);
    const uint64_t turns = gr_ceil_div(w->count, w->rows) * w->turns, rows = gr_min(w->count, w->rows);
    const uint64_t cycles = layout->compute_bound ? 30 : is_slow_to_add(layout) ? 12 : 3;
    const uint64_t warps = gr_max(2, gr_ceil_div(at_once * 2, multiprocessors)); /* of a scheduler */
    const uint64_t adds = rows * w->elements * cycles * warps / 2;
    const uint64_t loads = gr_max(LATENCY, at_once * w->bytes * rows * w->waste / (10 * BYTES_PER_NS));
    const uint64_t pass = parts > 1 ? PASS + PASS_LEVEL * gr_log2((uint32_t)parts) +
                                          parts * p->results * STATE_BYTES / BYTES_PER_NS
                                    : 0;
    return waves * (turns * (loads + adds) + w->levels * LEVEL) + pass;
}

/* ---- lanes ---- */

/* Tenths of the bytes that threads need which neighbouring threads read, of `bytes` side by side. */
static uint64_t waste_of(uint64_t bytes) {
    return bytes >= LINE           ? 10
           : bytes >= LINE / 2     ? 11
           : bytes >= SECTOR_BYTES ? 13
                                   : 13 * SECTOR_BYTES / bytes;
}

/* A factor on the estimate for `lanes`, in percent: vectors of doubles, and those of large arrays,
   keep more bytes in flight than single elements, and vectors of large States more registers. */
static uint64_t weight_of(const gr_layout *layout, const gr_general_params *p) {
    const bool large = p->results * p->count * layout->item_bytes >= LARGE;
    return has_large_state(layout) ? 140 : layout->item_bytes == 8 ? 75 : large ? 80 : 100;
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
        .count = c.each + (c.rest > 0),
        .rows = VECTOR_ROWS,
        .elements = vector,
        .waste = c.is_sequence ? 10 : waste_of(c.columns * layout->item_bytes),
    };
    w.bytes = gr_min(c.groups, c.slots) * c.threads * vector * layout->item_bytes;
    const uint32_t all = lanes >> c.lane_bits;
    const uint32_t enough = gr_power_of_two_from(gr_ceil_div(resident(LANES_PER_SM), w.blocks), all);
    const bool scattered = p->flags & GR_SCATTERED_OUTPUT;
    for (uint32_t parts = enough > 2 ? enough / 2 : 1; parts <= gr_min(all, 4 * enough); parts *= 2) {
        if (all / parts > MAX_TURNS || parts > MAX_PARTS)
            continue;
        w.turns = all / parts;
        w.levels = c.in_sets ? (c.lane_bits + SET_LEVELS) * w.turns : c.lane_bits + 2;
        const uint64_t time = time_of(layout, p, &w, parts) * weight_of(layout, p) / 100 +
                              (scattered && parts == 1 ? PASS : 0u);
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
    const uint32_t most = gr_power_of_two_up_to((GR_GENERAL_THREADS - 1) * vector / c.width, lanes);
    const uint32_t full = gr_power_of_two_up_to(GR_GENERAL_THREADS * vector / c.width, lanes);
    for (uint32_t down = full; down >= 1 && down * 2 >= most; down /= 2) {
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

/* Tenths of the bytes that threads with `columns` neighbouring results need which they read, as whole
   sectors. Threads of neighbouring lanes share sectors if rows are shorter. */
static uint64_t waste_of_threads(const gr_general_params *p, uint64_t item, uint64_t columns,
                                 bool has_lanes) {
    const uint64_t row = gr_magnitude(p->along.stride[0]), next = gr_magnitude(p->keep.stride[0]);
    if (row <= next || p->results == 1) /* neighbouring lanes are closer than neighbouring results */
        return 10 * gr_min(row, SECTOR_BYTES) / item;
    const uint64_t here = gr_min(columns, p->keep.extent[0]), side = here * next, used = here * item;
    const uint64_t read = side >= LINE ? side : gr_min(gr_max(side, SECTOR_BYTES) + SECTOR_BYTES / 4, LINE);
    return gr_max(10, 10 * (has_lanes || row < SECTOR_BYTES ? gr_min(read, gr_max(row, used)) : read) / used);
}

static void try_axis(const gr_layout *layout, const gr_general_params *p, uint32_t along, bool along_first,
                     uint32_t lanes, choice *best) {
    const uint64_t columns = GR_GENERAL_THREADS / along;
    work w = {
        .blocks = gr_ceil_div(p->results, columns),
        .per_sm = is_slow_to_add(layout) ? AXIS_PER_SM - 1 : AXIS_PER_SM,
        .count = gr_ceil_div(p->count, lanes),
        .rows = is_slow_to_add(layout) ? AXIS_ROWS / 2 : AXIS_ROWS,
        .elements = 1,
        .bytes = gr_min(columns, p->results) * along * layout->item_bytes,
        .waste = waste_of_threads(p, layout->item_bytes, columns, along > 1),
        .levels = gr_log2(along) + 1,
    };
    const uint32_t all = lanes / along;
    const uint32_t enough = gr_power_of_two_from(gr_ceil_div(resident(AXIS_PER_SM), w.blocks), all);
    /* Neighbouring threads of one result have neighbouring lanes, one each. */
    for (uint32_t parts = along_first  ? all
                          : enough > 2 ? enough / 2
                                       : 1;
         parts <= gr_min(all, 2 * enough) || parts == all; parts *= 2) {
        if (all / parts > MAX_TURNS || parts > MAX_PARTS)
            continue;
        w.turns = all / parts;
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
    const work w = {
        .blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS * each),
        .per_sm = AXIS_PER_SM - 1,
        .count = p->count,
        .turns = 1,
        .rows = item > 8   ? 2
                : item > 2 ? 4
                           : 8,
        .elements = each,
        .bytes = gr_min(GR_GENERAL_THREADS * each, p->results) * item,
        .waste = waste_of_threads(p, item, GR_GENERAL_THREADS, false),
        .levels = 1,
    };
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
    /* Up to as many neighbouring results as there are, and as read two lines. */
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
    const bool along_first =
        p->results == 1 || gr_magnitude(p->along.stride[0]) <= gr_magnitude(p->keep.stride[0]);
    choice best = {.time = UINT64_MAX};
    const bool has_vectors = layout->packed && !layout->only_rows && !layout->has_second &&
                             p->keep.extent[0] > 1 && p->keep.stride[0] == (int64_t)layout->item_bytes;
    if (has_vectors && p->results * p->count * layout->item_bytes > SMALL)
        try_lanes(layout, p, lanes, &best);
    try_all_axis(layout, p, along_first, lanes, &best);
    if (lanes == 1 && !layout->batches && !layout->has_second && !layout->only_axis)
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
                (layout->has_second ? 0u : GR_IN_LANES);
    p->iterator = gr_dims_iterator(&p->along, lanes);
    p->lanes = (gr_lanes){
        .each = p->count / lanes, .rest = p->count % lanes, .step = lanes * (uint64_t)p->along.stride[0]};
    return true;
}
