/* Maps reductions with many results, or of arrays that are not contiguous, to the general kernels. Each
   plan_*() function fits one kernel to the merged dimensions: threads per result, blocks, and how many
   blocks share a result. */
#include "base/powers.h"
#include "reduce/general/dims.h"
#include "reduce/general/lane_order.h"
#include "reduce/general/lane_plan.h"
#include "reduce/general/launch.h"
#include "reduce/general/pieces.h"

/* Thresholds measured on an H200: benchmarks/results/axis_h200.json. */
enum {
    BLOCKS_PER_SM = 4,         /* blocks that an SM holds at 64 registers per thread */
    MAX_NARROW_TILE = 256,     /* max. bytes of a region of 2-byte elements, which threads load one by one */
    MAX_BYTES_TILE = 64,       /* max. bytes of a region of 1-byte elements */
    MAX_SLOW_TILE = 127,       /* max. bytes of a region of elements that are slow to combine one by one */
    TILE_ELEMENTS = 16,        /* min. elements per thread of `tiles`, */
    TILE_LANES = 16,           /* max. threads per result, */
    MIN_TILE_THREADS = 128,    /* where the order counts, and of a block together */
    MAX_TILE_ROW = 32,         /* bytes of a row in a region of several columns: wider rows fill sectors */
    MIN_ACROSS = 8,            /* min. neighbouring slots: narrower parts of rows read slower */
    MIN_SECTOR_SLOTS = 2,      /* min. neighbouring slots if threads would be idle: a sector */
    MAX_UNALIGNED_ACROSS = 64, /* slots of an unaligned batch that one block combines */
    THREAD_ROWS = 16,          /* rows of a slot per thread, down to the next if threads would be idle */
    MIN_THREAD_ROWS = 4,
    PART_ROWS = 16,                /* rows per thread of a part below which pass 2 does not pay */
    MIN_UNALIGNED_ROWS = 64,       /* rows from which the States of a long period pay */
    MIN_SPREAD_BYTES = 64,         /* bytes per row: narrower rows leave most of a block of `spread` idle */
    MAX_SPREAD_ITEM = 4,           /* bytes: with larger elements `axis` has enough loads in flight */
    MAX_UNALIGNED_ITEM = 4,        /* bytes: with larger elements `axis` has enough loads in flight */
    MIN_UNALIGNED_BYTES = 1 << 24, /* total bytes up to which that holds */
    FEW_ROWS = 64,                 /* rows up to which `axis` has more threads, if vectors make few blocks */
    MIN_SPREAD_ROWS = 12,    /* rows from which `spread` pays although threads could reduce whole results */
    FEW_SCATTERED = 1 << 18, /* elements up to which pass 2 does not pay for a scattered output */
    SHORT_AXIS = 8,          /* elements per result up to which the same holds, of any number of results */
    NARROW_BYTES = 128,      /* bytes of a row of columns below which `columns` reads positions slower */
    THREAD_ELEMENTS = 16,    /* elements per thread of a part of `axis` */
    FEW_ELEMENTS = 8,        /* elements per thread for up to FEW_RESULTS results, or in a fixed order */
    FEW_RESULTS = 8,
    FEW_UNORDERED = 1 << 14,      /* elements up to which `axis` is faster where their order does not count */
    MIN_POSITION_BYTES = 1 << 24, /* total bytes from which positions have unaligned `columns`, */
    MIN_POSITION_ROW = 1 << 15,   /* and bytes of a row, if there are several batches */
    MIN_PARTS = 4,                /* min. parts for which pass 2 pays */
    TINY_ROW = 8, /* bytes: a contiguous row of results up to which the next dimension is the faster one */
    ITERATOR_ELEMENTS = 8,         /* elements per thread along the first two dimensions */
    LONG_ITERATOR_ELEMENTS = 32,   /* the same if these have more elements than a warp has threads */
    MAX_IDLE_FRACTION = 8,         /* up to 1 / MAX_IDLE_FRACTION of the threads may idle */
    WHOLE_BYTES = 128,             /* bytes per result up to which a thread reduces whole results */
    BLOCK_ROWS = 16,               /* cost of a block in rows of a thread */
    TRIGGER_EARLY_BYTES = 1 << 22, /* total bytes up to which a launch counts as short */
    LAST_BLOCKS_PER_SM = 8,        /* blocks of `last` per SM */
    MAX_AXIS_PARTS = 512,          /* parts of a row that `axis` takes in a fixed order */
    SPLIT_BYTES = 1 << 23, /* total bytes from which more blocks than are resident can share results */
};

static uint64_t columns_resident_blocks(const gr_layout *layout) {
    const uint64_t min_state = layout->item_bytes == 1 ? 8 : 0;
    const uint64_t state = gr_max(layout->state_bytes, min_state);
    return resident(GR_COLUMNS_OCCUPANCY(state, column_vector(layout)));
}

/* Whether to trigger the dependent launch (programmatic dependent launch) when the kernel starts. Blocks of
   the dependent kernel that become resident next to these unbalance the SMs, which pays only for short
   kernels. */
static bool triggers_early(const gr_layout *layout, const gr_general_launch *launch) {
    const gr_general_params *p = &launch->params;
    const uint64_t blocks = (uint64_t)launch->grid_x * launch->grid_y;
    return p->results * p->count * layout->item_bytes <= TRIGGER_EARLY_BYTES ||
           blocks * 10 >= launch->resident_blocks * 9;
}

/* Parts per result if the number of blocks is close to the number of resident ones: minimises waves * (rows
   per thread + cost of a block). `rows`: rows per thread without parts. */
static uint64_t even_parts(const gr_layout *layout, const gr_general_params *p, uint64_t blocks,
                           uint64_t rows, uint64_t max_parts, uint64_t resident_blocks) {
    const bool evenly =
        blocks * BLOCKS_PER_SM <= resident_blocks || blocks >= resident_blocks * BLOCKS_PER_SM;
    if (evenly || p->results * p->count * layout->item_bytes < SPLIT_BYTES)
        return parts_for(blocks, max_parts, resident_blocks);
    uint64_t best = 1, min_rows = UINT64_MAX;
    for (uint64_t parts = 1; parts <= max_parts && blocks * parts <= resident_blocks * BLOCKS_PER_SM;
         ++parts) {
        const uint64_t waves = gr_ceil_div(blocks * parts, resident_blocks);
        const uint64_t all = waves * (gr_ceil_div(rows, parts) + BLOCK_ROWS);
        best = all < min_rows ? parts : best;
        min_rows = gr_min(all, min_rows);
    }
    return best;
}

/* Splits `threads` threads per result between the first two dimensions, of `length` elements, and the
   remaining ones, as far as each thread has enough elements along the first two. */
static void set_iterator(gr_general_params *p, uint64_t length, uint64_t threads) {
    const uint64_t outer = length > 0 ? p->count / length : 1;
    const uint64_t side_by_side = gr_max(gr_ceil_div(length, LONG_ITERATOR_ELEMENTS),
                                         gr_min(WARP, gr_ceil_div(length, ITERATOR_ELEMENTS)));
    p->groups = gr_max(1, gr_min(outer, threads / gr_max(1, side_by_side)));
    /* A step of whole multiples of the first extent never wraps; few threads idle for it. */
    uint64_t step = threads / p->groups;
    const uint64_t over = step % gr_max(1, p->along.extent[0]);
    if (length > p->along.extent[0] && over < step && over * MAX_IDLE_FRACTION <= step)
        step -= over;
    p->iterator = gr_dims_iterator(&p->along, step);
}

/* Whether the order of the elements of a result follows from its length alone, in whichever order the results
   are written. */
static bool is_row_in_fixed_order(const gr_layout *layout, const gr_general_params *p) {
    return (layout->has_pieces || layout->fixed_order) && p->along.extent[1] == 1 &&
           p->along.stride[0] == (int64_t)layout->item_bytes;
}

/* ---- vectors ---- */

/* Whether the strides between rows are multiples of as many bytes. */
static bool has_aligned_rows(const gr_general_params *p, int64_t bytes) {
    for (size_t d = 0; d < GR_MAX_DIMS; ++d)
        if ((d > 0 && p->keep.stride[d] % bytes != 0) || p->along.stride[d] % bytes != 0)
            return false;
    return true;
}

/* Whether each row of each slot is one aligned vector. */
static bool is_vectors(const gr_layout *layout, const gr_general_params *p, uint64_t vector) {
    const uint64_t bytes = vector * layout->item_bytes;
    return p->keep.extent[0] % vector == 0 && layout->origin % bytes == 0 &&
           has_aligned_rows(p, (int64_t)bytes);
}

/* ---- map ---- */

static bool plan_map(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    if (p->count != 1 || p->keep.extent[0] != p->results ||
        p->keep.stride[0] != (int64_t)layout->item_bytes || (p->flags & GR_SCATTERED_OUTPUT))
        return false;
    const size_t larger = gr_max(layout->item_bytes, layout->result_bytes);
    const uint64_t vectors = gr_ceil_div(p->results, GR_VECTOR_BYTES / larger);
    const uint64_t blocks = gr_ceil_div(vectors, GR_GENERAL_THREADS * GR_MAP_VECTORS);
    return set_launch(launch, "map", blocks, 1);
}

/* ---- tiles ---- */

/* Avoids bank conflicts in shared memory (32 banks of 4 bytes) where elements may have any order: threads
   whose regions start in the same bank start with different elements. In regions of 2^k words times an odd
   number every 2^(5-k)-th region shares a bank. `elements`: per thread. */
static void avoid_conflicts(gr_tiles *tiles, size_t item_bytes, uint64_t elements) {
    const uint64_t bytes = tiles->region * item_bytes;
    if (bytes % 4 != 0)
        return;
    const uint32_t together = (uint32_t)gr_common_divisor(bytes / 4, 32);
    tiles->rotate_shift = 5;
    for (uint32_t power = together; power > 1; power /= 2)
        --tiles->rotate_shift;
    tiles->rotate_mask = gr_power_of_two_up_to(elements, together) - 1;
}

/* The same by gaps behind the regions, where the order counts: the threads of a region read neighbouring
   units of four bytes or more, and regions are an odd multiple of these apart. */
static void add_gaps(gr_tiles *tiles, size_t item_bytes) {
    const uint64_t bytes = tiles->region * item_bytes, unit = gr_max(item_bytes, 4);
    const uint64_t together = gr_max(tiles->lanes * item_bytes / unit, 1);
    if (bytes % GR_VECTOR_BYTES != 0 || tiles->region == 1)
        return;
    uint64_t units = gr_ceil_div(bytes / unit, together);
    units += units % 2 == 0;
    tiles->gap = (uint32_t)(units * together * unit - bytes);
    tiles->by_region = (uint32_t)(((uint64_t)1 << 32) / tiles->region + 1);
}

/* Threads per result of a tile of as many results. */
static uint32_t tile_lanes(const gr_general_params *p, uint64_t results) {
    return gr_power_of_two_up_to(gr_min(GR_GENERAL_THREADS / gr_min(results, GR_GENERAL_THREADS), p->count),
                                 WARP);
}

static bool plan_tiles(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const gr_dims *keep = &p->keep, *along = &p->along;
    const int64_t item = (int64_t)layout->item_bytes;
    uint64_t width = 1;
    /* A single result is here for the order that it has among others. */
    const bool single = is_row_in_fixed_order(layout, p);
    if (p->count * layout->item_bytes > MAX_TILE_REGION || (p->results == 1 && !single) ||
        along->extent[1] > 1)
        return false;
    if (along->stride[0] == item) {
        if (!layout->in_c_order && !layout->compute_bound &&
            p->count * layout->item_bytes > (item == 1   ? MAX_BYTES_TILE
                                             : item == 2 ? MAX_NARROW_TILE
                                                         : MAX_TILE_REGION))
            return false;
    } else { /* contiguous columns */
        width = keep->extent[0];
        if (keep->stride[0] != item || width * layout->item_bytes >= MAX_TILE_ROW ||
            along->stride[0] != (int64_t)width * item)
            return false;
    }
    if (layout->short_tiles && p->count * layout->item_bytes > MAX_SLOW_TILE)
        return false;
    const uint64_t region = p->count * width, regions = p->results / width;
    const size_t outer = width == 1 ? 0 : 1; /* the dimension from region to region */
    if (region * layout->item_bytes > MAX_TILE_REGION || keep->extent[outer] != regions ||
        (regions > 1 && keep->stride[outer] != (int64_t)region * item))
        return false;

    /* Tiles start at the array's alignment modulo 16 bytes. Four blocks per SM, if each then has a result
       for each thread. */
    const uint64_t vector = GR_VECTOR_BYTES / layout->item_bytes,
                   unit = vector / gr_common_divisor(region, vector);
    const uint64_t capacity =
        GR_TILE_BYTES / layout->item_bytes - (layout->origin % GR_VECTOR_BYTES ? vector : 0);
    /* The order of the elements of a variance follows from `lanes`, and these from the elements of one result
       alone: see vector_tiles.cuh. */
    const bool any_order = !layout->fixed_order;
    /* Where the order counts, it does not follow from the alignment. */
    const uint64_t full = GR_TILE_BYTES / layout->item_bytes / region / unit * unit;
    uint32_t lanes =
        any_order ? tile_lanes(p, full * width) : gr_power_of_two_up_to(p->count / TILE_ELEMENTS, TILE_LANES);
    if (width > 1 && gr_has_lanes(layout, p))
        lanes = gr_lanes_of(p->count);
    const uint64_t threads =
        any_order && !layout->compute_bound ? GR_GENERAL_THREADS : gr_max(MIN_TILE_THREADS / lanes, 1);
    const uint64_t target = gr_max(gr_ceil_div(regions, resident(4)), gr_ceil_div(threads, width));
    const uint64_t each = gr_min(gr_ceil_div(target, unit), capacity / region / unit) * unit;
    const uint64_t blocks = gr_ceil_div(regions, each);
    if (any_order && !layout->has_pieces)
        lanes = tile_lanes(p, each * width);
    p->tiles = (gr_tiles){.regions = regions,
                          .region = (uint32_t)region,
                          .width = (uint32_t)width,
                          .each = (uint32_t)each,
                          .lanes = lanes};
    if (any_order && layout->has_pieces)
        add_gaps(&p->tiles, layout->item_bytes);
    else if (any_order && !layout->has_pieces)
        avoid_conflicts(&p->tiles, layout->item_bytes, p->count / lanes);
    return set_launch(launch, "tiles", blocks, 1);
}

/* ---- columns ---- */

/* Splits the threads of a block between neighbouring slots, rows of a slot, and batches. `min_across`: min.
   neighbouring slots. */
static void share_columns(gr_columns *c, uint64_t rows, uint64_t min_across, uint64_t min_across_of_few,
                          uint64_t max_each, uint64_t resident_blocks) {
    /* Threads per slot: all resident threads, as long as each has enough rows. */
    const uint64_t threads = resident_blocks * GR_GENERAL_THREADS;
    const uint64_t each = units_per_thread(c->slots * rows, threads, MIN_THREAD_ROWS, max_each);
    const uint64_t deepest = gr_max(1, rows / each);
    if (each < max_each)
        min_across = min_across_of_few;
    uint64_t down = gr_min(threads / c->slots, GR_GENERAL_THREADS / min_across);
    down = gr_max(1, gr_min(down, deepest));
    const uint64_t across = gr_min(c->period, GR_GENERAL_THREADS / down);
    if (across == c->period)
        down = gr_min(GR_GENERAL_THREADS / across, deepest);
    c->across = (uint32_t)across;
    c->down = (uint32_t)down;
    c->batches = across < c->period ? 1 : (uint32_t)(GR_GENERAL_THREADS / (across * down));
}

/* Fast divisors for the kernels. */
static void set_divisors(gr_columns *c) {
    c->by_period = gr_fast_divmod_of(c->period);
    c->by_across = (1u << 16) / c->across + 1;
    c->by_down = (1u << 16) / c->down + 1;
}

/* Whether `axis` or `whole` is faster than vectors that are not aligned, or than `spread`: for few elements,
   and for positions, except in long rows or in one batch. */
static bool is_faster_by_element(const gr_layout *layout, const gr_general_params *p) {
    const uint64_t all = p->results * p->count;
    if ((layout->in_c_order || layout->idempotent) && all <= FEW_UNORDERED)
        return true;
    return layout->in_c_order && layout->item_bytes > 1 &&
           (all * layout->item_bytes < MIN_POSITION_BYTES ||
            (p->results > p->keep.extent[0] && p->keep.extent[0] * layout->item_bytes < MIN_POSITION_ROW));
}

static bool plan_columns(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint64_t item = layout->item_bytes, width = p->keep.extent[0];
    const uint64_t vector = column_vector(layout);
    if (p->along.extent[2] > 1 || p->keep.stride[0] != (int64_t)item)
        return false;
    const bool unaligned = !is_vectors(layout, p, vector);
    gr_columns c = {.width = width, .replicas = 1, .period = width / vector};
    uint64_t rows = p->count;
    if (unaligned) {
        if (is_faster_by_element(layout, p))
            return false;
        if (p->along.extent[1] > 1 || p->along.stride[0] != (int64_t)(width * item) || p->count == 1)
            return false;
        if (item > MAX_UNALIGNED_ITEM && p->results * p->count * item < MIN_UNALIGNED_BYTES)
            return false;
        c.period = width / gr_common_divisor(width, vector);
        c.replicas = (uint32_t)(vector / gr_common_divisor(width, vector));
        rows = p->count / c.replicas;
        if (c.period > GR_GENERAL_THREADS && rows < MIN_UNALIGNED_ROWS)
            return false;
    }
    c.slots = p->results / width * c.period;
    const uint64_t resident_blocks = launch->resident_blocks = columns_resident_blocks(layout);
    const uint64_t min_across = gr_min(c.period, unaligned ? MAX_UNALIGNED_ACROSS : MIN_ACROSS);
    share_columns(&c, rows, min_across, unaligned ? min_across : gr_min(c.period, MIN_SECTOR_SLOTS),
                  unaligned && item > MAX_UNALIGNED_ITEM ? 2 * THREAD_ROWS : THREAD_ROWS, resident_blocks);
    const uint64_t blocks = gr_ceil_div(c.slots, (uint64_t)c.across * c.batches);
    const uint64_t parts = parts_for(blocks, rows / ((uint64_t)c.down * PART_ROWS), resident_blocks);
    if (parts == 1 && blocks < resident(1) && p->count > 4 && p->count <= FEW_ROWS)
        return false; /* `axis` has more threads */
    if (!set_launch(launch, "columns", blocks, parts))
        return false;
    if (unaligned) {
        const bool fold = c.period == c.across;
        p->along.stride[0] = (int64_t)(c.period * vector * item);
        p->flags |= GR_UNALIGNED_ROWS | (fold ? GR_FOLD : 0);
        p->parts = fold ? parts : parts * c.replicas;
    }
    p->iterator = gr_dims_iterator(&p->along, c.down * parts);
    set_divisors(&c);
    p->columns = c;
    return true;
}

/* ---- spread ---- */

static bool plan_spread(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint64_t item = layout->item_bytes, width = p->keep.extent[0], vector = column_vector(layout);
    if (is_faster_by_element(layout, p))
        return false;
    if (item > MAX_SPREAD_ITEM || p->keep.stride[0] != (int64_t)item || width * item < MIN_SPREAD_BYTES ||
        (p->count < MIN_SPREAD_ROWS && enough_for_whole(p)) || (item < 4 && !has_aligned_rows(p, 4)))
        return false;
    const uint64_t lead = item < 4 ? layout->origin % 4 / item : 0;
    gr_columns c = {
        .width = width, .replicas = 1, .period = gr_ceil_div(width + lead, vector), .lead = (uint32_t)lead};
    const uint64_t batches = p->results / width;
    const uint64_t resident_blocks = launch->resident_blocks = columns_resident_blocks(layout);
    c.slots = batches * c.period;
    share_columns(&c, p->count, gr_min(c.period, WARP), gr_min(c.period, MIN_ACROSS), THREAD_ROWS,
                  resident_blocks);
    /* All blocks have the same number of slots. */
    const uint64_t pieces = gr_ceil_div(c.period, c.across);
    c.across = (uint32_t)gr_ceil_div(c.period, pieces);
    c.period = pieces * c.across;
    c.slots = batches * c.period;
    const uint64_t blocks = gr_ceil_div(c.slots, (uint64_t)c.across * c.batches);
    if (blocks > GR_MAX_GRID || (blocks < resident(1) && p->count <= FEW_ROWS))
        return false;
    if (!layout->in_c_order && p->along.extent[1] > p->along.extent[0])
        gr_dims_swap(&p->along, 0, 1); /* threads iterate over the first dimension without a division */
    const uint64_t parts = even_parts(layout, p, blocks, p->count / c.down,
                                      p->count / ((uint64_t)c.down * PART_ROWS), resident_blocks);
    c.high = (int64_t)item;
    gr_dims_bounds(&p->keep, &c.low, &c.high);
    gr_dims_bounds(&p->along, &c.low, &c.high);
    set_divisors(&c);
    p->columns = c;
    set_iterator(p, p->along.extent[0], c.down * parts);
    return set_launch(launch, "spread", blocks, parts);
}

/* ---- any layout ---- */

/* Results whose order follows from their length alone: the threads and the parts, which the tree of pieces
   combines, are functions of the length. Partial results of such operators take long to combine. */
static bool plan_fixed_axis(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    if (!layout->fixed_axis || layout->has_second || p->along.extent[1] > 1)
        return false;
    const bool along_first =
        p->results == 1 || gr_magnitude(p->along.stride[0]) <= gr_magnitude(p->keep.stride[0]);
    const uint32_t along = gr_power_of_two_from(gr_ceil_div(p->count, FEW_ELEMENTS), GR_GENERAL_THREADS);
    const uint64_t most = p->count / ((uint64_t)along * THREAD_ELEMENTS);
    const uint64_t parts = gr_max(1, gr_min(most, MAX_AXIS_PARTS));
    p->threads_along = along;
    p->flags |= along_first ? GR_COALESCE_ALONG_REDUCED : 0;
    launch->of_pieces = true;
    set_iterator(p, p->along.extent[0], along * parts);
    return set_launch(launch, "axis", gr_ceil_div(p->results, GR_GENERAL_THREADS / along), parts);
}

static bool plan_any(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    if (plan_fixed_axis(layout, launch))
        return true;
    const uint64_t resident_threads = resident(gr_reference_device.threads_per_multiprocessor);
    const gr_dims *keep = &p->keep;
    const bool tiny = keep->extent[0] * layout->item_bytes <= TINY_ROW && keep->extent[1] > 1;
    const bool along_first =
        p->results == 1 || gr_magnitude(p->along.stride[0]) <= gr_magnitude(keep->stride[tiny ? 1 : 0]);
    const uint64_t span = p->count * gr_max(layout->item_bytes, gr_magnitude(p->along.stride[0]));
    const bool few = (along_first ? span : p->count * layout->item_bytes) <= WHOLE_BYTES;
    if ((!along_first || few) && !is_masked(layout) && !layout->only_axis && enough_for_whole(p)) {
        const uint64_t blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS * GR_RESULTS_PER_THREAD);
        p->iterator = gr_dims_iterator(&p->along, 1);
        return set_launch(launch, "whole", blocks, 1);
    }
    const bool many_rows = p->results * WARP >= resident_threads / 4;
    uint32_t along;
    if (along_first) {
        /* At most one warp per row if rows alone fill the device, with at least eight elements per thread:
           eight neighbouring threads read whole 32-byte sectors. Otherwise a block per row. */
        along = many_rows ? gr_power_of_two_from(gr_ceil_div(p->count, 8), 32)
                          : gr_power_of_two_from(p->count, GR_GENERAL_THREADS);
    } else {
        /* Neighbouring threads have neighbouring results, at least 32 if a row has as many. */
        const bool wide =
            p->results >= resident_threads || p->results * p->count * layout->item_bytes >= SPLIT_BYTES;
        const uint32_t columns = gr_power_of_two_from(p->keep.extent[0], wide ? GR_GENERAL_THREADS : WARP);
        along = GR_GENERAL_THREADS / columns;
        if (many_rows)
            along = (uint32_t)gr_min(along, gr_power_of_two_from(gr_ceil_div(p->count, 8), WARP));
    }
    while (along > 1 && along / 2 >= p->count)
        along /= 2;
    const uint64_t blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS / along);
    const uint64_t each = p->results <= FEW_RESULTS ? FEW_ELEMENTS : THREAD_ELEMENTS;
    const uint64_t max_parts = p->count / (along * each);
    launch->resident_blocks = axis_resident_blocks(layout);
    const uint64_t parts = even_parts(layout, p, blocks, p->count / along,
                                      max_parts < MIN_PARTS ? 1 : max_parts, launch->resident_blocks);
    p->threads_along = along;
    p->flags |= along_first ? GR_COALESCE_ALONG_REDUCED : 0;
    set_iterator(p, p->along.extent[0] * p->along.extent[1], along * parts);
    return set_launch(launch, "axis", blocks, parts);
}

static bool plan_one(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const bool scattered = p->flags & GR_SCATTERED_OUTPUT;
    const int64_t item = (int64_t)layout->item_bytes;
    const bool any_order = layout->in_c_order || layout->idempotent,
               short_axis = any_order && p->count > 1 && p->count <= SHORT_AXIS;
    const bool narrow = layout->in_c_order && p->keep.stride[0] == item && p->along.stride[0] != item &&
                        p->keep.extent[0] * layout->item_bytes < NARROW_BYTES;
    const bool few =
        scattered &&
        ((p->results * p->count <= FEW_SCATTERED && !is_row_in_fixed_order(layout, p)) || short_axis);
    const bool side_by_side = layout->packed && !layout->has_second && p->count > 0 && !few;
    if (gr_plan_pair_pieces(layout, launch))
        return true;
    const bool all = side_by_side && !layout->only_axis;
    if (gr_has_lanes(layout, p)) {
        launch->writes_states = scattered;
        if (side_by_side && has_tiles(layout) && plan_tiles(layout, launch))
            return true;
        launch->writes_states = false;
        return gr_lanes_plan(layout, launch);
    }
    if (side_by_side && layout->only_rows)
        return gr_plan_pieces(layout, launch) || gr_plan_rows(layout, launch) || plan_any(layout, launch);
    if ((all && plan_map(layout, launch)) ||
        (side_by_side && has_tiles(layout) && plan_tiles(layout, launch)) ||
        (side_by_side && (gr_plan_pieces(layout, launch) || gr_plan_rows(layout, launch) ||
                          (!(short_axis && narrow) && plan_columns(layout, launch))))) {
        launch->writes_states = scattered;
        return true;
    }
    return (all && plan_spread(layout, launch)) || plan_any(layout, launch);
}

bool gr_axis_plan(const gr_layout *layout, gr_general_launch *launch) {
    launch->resident_blocks = resident(BLOCKS_PER_SM);
    if (!plan_one(layout, launch))
        return false;
    launch->params.flags |= triggers_early(layout, launch) ? GR_TRIGGER_EARLY : 0;
    return true;
}

bool gr_last_plan(gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    /* Enough threads per result to load all States at once, but at least four neighbouring results. */
    const uint32_t side_by_side = gr_power_of_two_from(p->results, 4);
    /* Of pieces a thread takes the branches of one node. */
    const uint32_t along = gr_power_of_two_from(gr_ceil_div(p->count, GR_LAST_IN_FLIGHT),
                                                p->flags & GR_OF_PIECES ? GR_GENERAL_THREADS
                                                                        : GR_GENERAL_THREADS / side_by_side);
    const uint64_t blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS / along);
    p->threads_along = along;
    p->flags |= GR_TRIGGER_EARLY;
    /* At most as many blocks as are resident: with more, each would do too little. */
    return set_launch(launch, "last", gr_min(blocks, resident(LAST_BLOCKS_PER_SM)), 1);
}
