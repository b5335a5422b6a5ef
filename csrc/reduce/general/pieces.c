/* Plans the kernels for contiguous rows: which threads take which elements, as pieces of a row or of two
   vectors, in an order that follows from the length alone, or as runs with gaps between them. */
#include "reduce/general/pieces.h"

#include "base/powers.h"
#include "reduce/general/launch.h"
#include "reduce/masked/params.h"

/* Thresholds measured on an H200: benchmarks/results/axis_h200.json. */
enum {
    THREAD_BYTES = 256,        /* bytes of a run per thread: 16 loads of 16 bytes */
    MIN_THREAD_BYTES = 64,     /* bytes per thread if threads would be idle: four loads, in flight at once */
    MIN_LANES = 4,             /* min. neighbouring threads per run, which read whole sectors, */
    LONG_RUN_BYTES = 256,      /* if a result has several runs of at least this many bytes */
    SHORT_RUNS = 1 << 24,      /* total bytes from which threads of several runs get half of THREAD_BYTES */
    PART_BYTES = 256,          /* bytes per thread of a part below which pass 2 does not pay */
    PIECE_STRIPS = 4,          /* strips per lane of a piece of `pieces`, */
    LONG_PIECE_STRIPS = 8,     /* strips of rows up to ONE_PIECE_BYTES and from LONG_ROW_BYTES on */
    ONE_PIECE_BYTES = 1 << 15, /* longer rows have several pieces */
    LONG_ROW_BYTES = 1 << 20,  /* bytes from which pieces are long again */
    MAX_PIECES = 4096,         /* pieces per row, from which on pieces grow, */
    MAX_MASKED_PIECES = 16384, /* and those of a row under a mask, eight of which are in a block */
    MOST_STATES = GR_GENERAL_THREADS * GR_PIECE_BRANCHES, /* of pieces that `last` combines, per row */
    MIN_GAPPED_RUN_BYTES = 64, /* bytes of `rows` with gaps: shorter runs keep few loads in flight */
};

static uint64_t rows_resident_blocks(const gr_layout *layout) {
    const int blocks = GR_ROWS_OCCUPANCY(layout->state_bytes, layout->item_bytes) - layout->keeps_elements;
    return resident((unsigned)blocks);
}

/* ---- rows ---- */

bool gr_plan_rows(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint64_t run = p->along.extent[0], runs = p->count / run, item = layout->item_bytes;
    if (run == 1 || p->along.stride[0] != (int64_t)item || run * item < MIN_GAPPED_RUN_BYTES)
        return false;
    /* Threads per result: all resident threads, but from a warp to a block, if there are enough elements. */
    const uint64_t resident_blocks = launch->resident_blocks = rows_resident_blocks(layout);
    const uint64_t threads = resident_blocks * GR_GENERAL_THREADS;
    const uint32_t share = gr_power_of_two_up_to(threads / p->results, GR_GENERAL_THREADS);
    const uint64_t all = p->results * p->count * item;
    const uint64_t each = units_per_thread(all, threads, MIN_THREAD_BYTES,
                                           runs > 1 && all >= SHORT_RUNS ? THREAD_BYTES / 2 : THREAD_BYTES);
    const uint32_t min_lanes = runs > 1 && run * item >= LONG_RUN_BYTES ? MIN_LANES : 1;
    uint32_t along = gr_power_of_two_up_to(gr_max(p->count * item / each, min_lanes),
                                           share > WARP ? share : (uint32_t)WARP);
    /* Half of the threads per result if that avoids a second, mostly empty wave. */
    const uint64_t wave = gr_ceil_div(p->results, GR_GENERAL_THREADS / along);
    if (layout->keeps_elements && wave > resident_blocks && 2 * wave < 3 * resident_blocks &&
        along > min_lanes)
        along /= 2;
    const uint32_t lanes = gr_power_of_two_up_to(gr_max(run * item / each, min_lanes), along);
    const uint64_t blocks = gr_ceil_div(p->results, GR_GENERAL_THREADS / along);
    const bool shared = p->count * item / ((uint64_t)along * PART_BYTES) > 1;
    const uint64_t parts = parts_for(blocks, shared ? p->count * item / (along * each) : 1, resident_blocks);

    const uint64_t target = gr_ceil_div(parts * (along / lanes), runs), vector = GR_VECTOR_BYTES / item;
    const uint64_t segment = gr_min(gr_ceil_div(gr_ceil_div(run, target), vector) * vector, GR_MAX_SEGMENT);
    const uint64_t segments = gr_ceil_div(run, segment);
    p->rows = (gr_rows){
        .run = run, .segment = segment, .segments = segments, .pieces = segments * runs, .lanes = lanes};
    p->threads_along = along;
    return set_launch(launch, "rows", blocks, parts);
}

/* ---- pieces ---- */

/* Cuts a row into pieces by its length alone: the order of its elements follows from that. A short row
   without `tiles` has one lane. */
static gr_pieces cut_row(uint64_t run, uint64_t item, bool has_tiles) {
    const uint64_t bytes = run * item;
    const bool single = !has_tiles && bytes <= MAX_TILE_REGION;
    /* Neighbouring lanes read whole sectors of short rows, too. */
    const uint32_t few = gr_power_of_two_up_to(bytes / SECTOR_BYTES, MIN_LANES);
    const uint32_t many = gr_power_of_two_up_to(bytes / THREAD_BYTES, WARP);
    const uint32_t lanes = single ? 1 : many > few ? many : few;
    const uint64_t all = gr_ceil_div(bytes, (uint64_t)GR_STRIP_BYTES * lanes);
    const bool short_pieces = bytes > ONE_PIECE_BYTES && bytes < LONG_ROW_BYTES;
    const uint32_t each = short_pieces ? PIECE_STRIPS : LONG_PIECE_STRIPS;
    const uint32_t long_each = gr_power_of_two_from(gr_ceil_div(all, MAX_PIECES), UINT32_MAX / 2);
    const uint32_t strips = each > long_each ? each : long_each;
    return (gr_pieces){.run = run,
                       .length = (uint64_t)strips * lanes * GR_STRIP_BYTES / item,
                       .pieces = (uint32_t)gr_ceil_div(all, strips),
                       .lane_bits = gr_log2(lanes),
                       .each = strips};
}

/* Shares a row of `all` strips between groups of lanes; returns the blocks per row. 3/8 of the resident
   threads have enough loads in flight: if there are as many, a group of lanes takes whole pieces, or
   GR_STRIPS_APART strips. With fewer rows each group of lanes takes one strip, except that one block takes a
   whole row of two to eight pieces. An operator that is bound by arithmetic has this exception only if there
   are as many rows as multiprocessors. */
static uint64_t share_row(gr_general_params *p, gr_pieces *pieces, uint64_t all, uint64_t resident_threads,
                          uint64_t item, bool compute_bound) {
    const bool spreads = compute_bound && p->results < resident(1);
    const uint64_t lanes = (uint64_t)1 << pieces->lane_bits, strips = pieces->each;
    const uint64_t groups = p->results * pieces->pieces, enough = gr_ceil_div(resident_threads * 3, 8);
    const bool shares = groups * lanes < enough && strips * lanes <= GR_GENERAL_THREADS;
    uint32_t share = shares ? gr_power_of_two_from(all, (uint32_t)strips) : 1;
    /* Doubles have few elements per strip: all strips are in flight at once, if there are threads for them.
     */
    const bool one_wave = item == 8 && groups * lanes * share <= resident_threads;
    uint32_t side_by_side = 1;
    pieces->each = 1;
    if (share > 1 && pieces->pieces > 1 && pieces->pieces <= GR_PIECE_BRANCHES && !spreads) {
        side_by_side = gr_power_of_two_from(pieces->pieces, GR_PIECE_BRANCHES);
        share = gr_power_of_two_up_to(GR_GENERAL_THREADS / (lanes * side_by_side), share);
        pieces->each = (uint32_t)strips / share;
    } else if (share > 1 && p->results > 1 && !one_wave &&
               groups * lanes * (share / GR_STRIPS_APART) >= enough) {
        share /= GR_STRIPS_APART;
        pieces->each = GR_STRIPS_APART;
    }
    if (share == 1) {
        pieces->each = (uint32_t)strips;
        if (pieces->pieces > 1 && (pieces->pieces <= GR_PIECE_BRANCHES || pieces->pieces > MOST_STATES ||
                                   p->results * lanes < 2 * resident_threads))
            side_by_side = gr_power_of_two_from(pieces->pieces, GR_PIECE_BRANCHES);
    }
    pieces->share_bits = gr_log2(share);
    p->threads_along = (uint32_t)lanes * share * side_by_side;
    return gr_ceil_div(pieces->pieces, side_by_side);
}

bool gr_plan_pieces(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint64_t item = layout->item_bytes;
    /* Most rows of up to MAX_TILE_REGION bytes have `tiles`, if the operator has that kernel. */
    const uint64_t least = has_tiles(layout) ? MIN_GAPPED_RUN_BYTES : 0;
    if (!layout->has_pieces || p->along.extent[1] > 1 || p->along.stride[0] != (int64_t)item ||
        p->count * item < least)
        return false;
    p->pieces = cut_row(p->count, item, has_tiles(layout));
    launch->resident_blocks = rows_resident_blocks(layout);
    const uint64_t vectors = p->count * item / GR_VECTOR_BYTES;
    const uint64_t all = gr_ceil_div(vectors * GR_VECTOR_BYTES, GR_STRIP_BYTES << p->pieces.lane_bits);
    const uint64_t threads = launch->resident_blocks * GR_GENERAL_THREADS;
    const uint64_t parts = share_row(p, &p->pieces, all, threads, item, layout->compute_bound);
    const bool aligned = starts_aligned(layout, &p->keep, 0, GR_VECTOR_BYTES);
    p->flags |= aligned ? 0u : GR_UNALIGNED_ROWS;
    launch->of_pieces = true;
    return set_launch(launch, "pieces", gr_ceil_div(p->results, GR_GENERAL_THREADS / p->threads_along),
                      parts);
}

/* ---- pieces of two vectors, or of a vector under a mask ---- */

/* Cuts a row into pieces of GR_PAIR_STRIPS strips, and a strip into `elements` per lane. `most`: pieces from
   which on pieces grow. */
static gr_pieces cut_pair(uint64_t run, uint32_t elements, uint64_t most) {
    const uint32_t lanes = gr_power_of_two_from(gr_ceil_div(run, elements), WARP);
    const uint64_t strips = gr_ceil_div(run, (uint64_t)elements * lanes);
    const uint32_t long_each = gr_power_of_two_from(gr_ceil_div(strips, most), UINT32_MAX / 2);
    const uint32_t each = long_each > GR_PAIR_STRIPS ? long_each : (uint32_t)GR_PAIR_STRIPS;
    return (gr_pieces){.run = run,
                       .length = (uint64_t)each * lanes * elements,
                       .pieces = (uint32_t)gr_ceil_div(strips, each),
                       .lane_bits = gr_log2(lanes),
                       .each = each};
}

/* Elements of a lane in a strip; 0 if the layout is for another kernel. */
static uint32_t pair_elements(const gr_layout *layout, const gr_general_params *p) {
    const int64_t item = (int64_t)layout->item_bytes;
    if (!layout->has_second || p->count <= 1 || p->along.extent[1] > 1 || p->along.stride[0] != item)
        return 0;
    if (!layout->pair)
        return layout->masked_elements;
    /* A thread of `whole` takes the elements of a short row in the same order. */
    const bool whole = p->count <= layout->pair_elements && !layout->only_axis && enough_for_whole(p);
    return p->along.second_stride[0] != item || whole ? 0 : layout->pair_elements;
}

bool gr_plan_pair_pieces(const gr_layout *layout, gr_general_launch *launch) {
    gr_general_params *p = &launch->params;
    const uint32_t elements = pair_elements(layout, p);
    if (elements == 0)
        return false;
    launch->resident_blocks = axis_resident_blocks(layout);
    gr_pieces pieces = cut_pair(p->count, elements, layout->pair ? MAX_PIECES : MAX_MASKED_PIECES);
    const uint64_t lanes = (uint64_t)1 << pieces.lane_bits;
    const uint64_t strips = gr_ceil_div(p->count, lanes * elements);
    /* As in share_row: if there are few threads, several groups of lanes share a piece. A block takes a row
       of few pieces. */
    const uint64_t enough = gr_ceil_div(launch->resident_blocks * GR_GENERAL_THREADS * 3, 8);
    const bool shares =
        p->results * pieces.pieces * lanes < enough && pieces.each == GR_PAIR_STRIPS && strips > 1;
    const uint32_t apart =
        layout->pair ? (uint32_t)GR_PAIR_STRIPS_APART : GR_MASKED_STRIPS_APART(layout->state_bytes);
    const bool one_block = pieces.pieces <= apart;
    const uint32_t side_by_side =
        shares && !one_block ? 1 : gr_power_of_two_from(pieces.pieces, GR_PIECE_BRANCHES);
    if (shares) {
        const uint32_t share = gr_power_of_two_from(strips, GR_PAIR_STRIPS) / side_by_side;
        pieces.share_bits = gr_log2(share);
        pieces.each = side_by_side;
    }
    p->pieces = pieces;
    p->threads_along = (uint32_t)(lanes * side_by_side) << pieces.share_bits;
    launch->of_pieces = true;
    launch->writes_states = !layout->pair && p->multiplicity > 1;
    return set_launch(launch, "pieces", gr_ceil_div(p->results, GR_GENERAL_THREADS / p->threads_along),
                      gr_ceil_div(pieces.pieces, side_by_side));
}
