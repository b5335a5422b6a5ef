#include "conv/tma_boxes.h"

#include <math.h>

#include "base/limits.h"

enum {
    LINE = 128,  /* bytes of a pixel in shared memory */
    UNIT = 1024, /* where a tile of the tensor cores begins */
    TILE = 64,
    GROUP = 8,
    MAX_BOX = 256, /* elements along a dimension of a tensor map's box */
    MAX_STAGES = 6,
    MAX_SLICES = 8,
    ENTRY = 16, /* bytes of a stage's barriers, or of a tap */
};
/* Bytes of shared memory for one block of a multiprocessor, and for each of two. */
static const uint64_t ALL = 227 << 10, HALF = 113 << 10;

/* What was seen on an H200, in microseconds: of a launch, of a block, more of one that has a multiprocessor
   for itself, of all blocks that stay, of a cluster; cycles in one, bytes in one from the L2 cache, and from
   shared memory. */
static const double LAUNCH = 1.5, BLOCK = 1.2, BLOCK_ALONE = 1, PERSISTENT = 2.5, CLUSTER = 2.2,
                    CYCLES_PER_US = 1755, L2_BYTES = 45, SHARED_BYTES = 120;
/* As if results were so many times as many bytes, more where those of NCHW are scattered; how much longer all
   takes with a ring of two stages for filters, with boxes for remainders, or without a neighbour. */
static const double RESULTS = 3.5, SCATTERED = 0.8, SHALLOW = 0.2, REMAINDERS = 0.16, ALONE = 1.06;
static const double MIXED = 0.1; /* what of the last turn others fill */
/* Of what is reckoned so, what 1 x 1 of NHWC takes: by 256 pixels and blocks that stay, by 128 pixels and 128
   filters, which has no room for a third stage of pixels if blocks stay (H200, 22 layers). */
static const double PERSISTENT_256 = 0.86, PERSISTENT_128 = 1.12, TILE_128X128 = 1.08;

typedef struct shape {
    uint32_t tiles, filters, blocks_per_sm;
} shape;

static const shape shapes[] = {{2, 64, 2}, {2, 128, 2}, {4, 64, 2}, {4, 128, 1}};

static uint32_t taps_of(const gr_conv *self) {
    return (uint32_t)(self->height.kernel * self->width.kernel);
}

/* Elements of channels that a line holds, and lines of a pixel. */
static uint64_t k_chunks_of(const gr_conv *self) {
    return gr_ceil_div(self->channels * gr_dtypes[self->dtype].item_bytes, LINE);
}

/* How many boxes the taps see: one for each remainder that the stride leaves of where they are. */
static uint32_t boxes_of_axis(const gr_conv_axis *axis) {
    uint32_t found = 0;
    for (uint64_t rest = 0; rest < axis->stride; ++rest)
        for (uint64_t tap = 0; tap < axis->kernel; ++tap)
            if (tap * axis->dilation % axis->stride == rest) {
                ++found;
                break;
            }
    return found;
}

/* Pixels of a box beyond those that the first tap sees. */
static uint64_t halo_of(const gr_conv_axis *axis, bool box_per_tap) {
    return box_per_tap ? 0 : (axis->kernel - 1) * axis->dilation / axis->stride;
}

/* Elements of x over which so many pixels of a box lie. */
static bool fits_in_box(uint64_t pixels, const gr_conv_axis *axis) {
    return pixels > 0 && (pixels - 1) * axis->stride + 1 <= MAX_BOX;
}

/* Fills in what follows from the box; false where it is too large. */
static bool set_box(const gr_conv *self, const shape *of, gr_conv_tma_tiling *it) {
    gr_conv_tma_params *maps = &it->maps;
    const uint64_t more = halo_of(&self->width, it->box_per_tap),
                   below = halo_of(&self->height, it->box_per_tap);
    const uint64_t columns = maps->box_columns + more, rows = maps->box_rows + below;
    if (!fits_in_box(columns, &self->width) || !fits_in_box(rows, &self->height) ||
        maps->box_images > MAX_BOX)
        return false;
    maps->pitch = (uint32_t)columns;
    maps->plane = (uint32_t)(columns * rows);
    if (maps->group8_pitch == 0) { /* tiles of 8 by 8 */
        maps->group8_pitch = maps->pitch;
        maps->tile_row_pitch = GROUP * maps->pitch;
    }
    const uint32_t last = (of->tiles - 1) % maps->tiles_per_image;
    const uint64_t reach = (of->tiles - 1) / maps->tiles_per_image * maps->plane +
                           last / maps->tiles_per_row * maps->tile_row_pitch +
                           (uint64_t)last % maps->tiles_per_row * GROUP + (GROUP - 1) * maps->group8_pitch +
                           GROUP + below * maps->pitch + more;
    const uint64_t pixels = maps->plane * (uint64_t)maps->box_images;
    maps->box_bytes = (uint32_t)(pixels * LINE);
    maps->x_stage_bytes = (uint32_t)(gr_ceil_div((pixels > reach ? pixels : reach) * LINE, UNIT) * UNIT);
    maps->boxes_x = (uint32_t)gr_ceil_div(self->width.out, maps->box_columns);
    maps->boxes_y = (uint32_t)gr_ceil_div(self->height.out, maps->box_rows);
    maps->filter_tiles = (uint32_t)gr_ceil_div(self->filters, of->filters);
    it->blocks = (uint64_t)maps->boxes_x * maps->boxes_y * gr_ceil_div(self->batch, maps->box_images) *
                 maps->filter_tiles * self->groups;
    return true;
}

/* Divides shared memory into stages; false where there is too little for a ring. */
static bool divide_shared_memory(const gr_conv *self, gr_conv_tma_tiling *it) {
    gr_conv_tma_params *maps = &it->maps;
    const uint64_t w = it->filters * LINE, taps = taps_of(self);
    const uint64_t boxes =
        it->box_per_tap ? taps : (uint64_t)boxes_of_axis(&self->width) * boxes_of_axis(&self->height);
    const bool alone =
        it->blocks_per_sm == 1 || it->blocks * it->slices <= gr_reference_device.multiprocessors;
    const uint64_t capacity = (alone ? ALL : HALF) - (GR_CONV_MAX_TAPS + 2 * MAX_STAGES) * ENTRY -
                              (it->persistent ? GR_CONV_OUTPUT_STAGING_BYTES : 0);
    const uint64_t turns = it->persistent
                               ? MAX_STAGES
                               : gr_ceil_div(k_chunks_of(self), it->slices) * boxes; /* of boxes, at most */
    uint64_t x = it->box_per_tap ? capacity / (maps->x_stage_bytes + w) : 2;
    if (x > MAX_STAGES)
        x = MAX_STAGES;
    if (x > turns)
        x = turns;
    /* A stage is let go of when the next one is asked for, so one alone is for one turn. */
    if (x == 0 || (x == 1 && turns > 1) || x * maps->x_stage_bytes >= capacity)
        return false;
    uint64_t filters = (capacity - x * maps->x_stage_bytes) / w;
    if (filters > MAX_STAGES)
        filters = MAX_STAGES;
    if (filters > turns * taps / boxes)
        filters = turns * taps / boxes;
    if (filters == 0 || (filters == 1 && turns * taps / boxes > 1))
        return false;
    maps->x_stages = (uint32_t)x;
    maps->w_stages = (uint32_t)filters;
    const uint64_t pipelines =
        x * maps->x_stage_bytes + filters * w + (x + filters + GR_CONV_MAX_TAPS) * ENTRY;
    maps->output_offset = it->persistent ? (uint32_t)pipelines : 0;
    return true;
}

/* Cycles of a block: what it multiplies, reads from shared memory or gets from the L2 cache, whichever takes
   longest, and its results. */
static double cycles_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    enum { TENSOR = 4096, RUN = 64 }; /* multiply-adds a cycle; pixels of NCHW that are stored together */
    const double chunks = (double)gr_ceil_div(k_chunks_of(self), it->slices), taps = taps_of(self);
    const double remainders = boxes_of_axis(&self->width) * boxes_of_axis(&self->height);
    const double pixels = it->tiles * TILE, filters = it->filters;
    const double boxes = it->box_per_tap ? taps : remainders;
    const double brought = chunks * (boxes * it->maps.box_bytes + taps * filters * LINE);
    const double read = chunks * taps * it->tiles * (TILE + filters) * LINE + brought;
    const double products = chunks * taps * pixels * filters * LINE / TENSOR;
    const double results = pixels * filters * (double)gr_dtypes[self->dtype].item_bytes / L2_BYTES;
    double cycles = fmax(products, fmax(read / SHARED_BYTES, brought / L2_BYTES)) + RESULTS * results;
    if (it->maps.w_stages < 3 && taps > 1)
        cycles *= 1 + SHALLOW;
    if (!it->box_per_tap && remainders > 1)
        cycles *= 1 + REMAINDERS;
    if (self->layout == GR_CONV_NCHW && !it->x_is_nchw)
        cycles += SCATTERED * results * GROUP / fmin(RUN, it->maps.pitch);
    return cycles;
}

/* About how many microseconds it takes, in as many turns as a multiprocessor has blocks. */
static double time_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    const double processors = gr_reference_device.multiprocessors;
    const double each = (double)(it->blocks * it->slices) / processors, turns = ceil(each);
    const double cycles = cycles_of(self, it) / CYCLES_PER_US;
    double time = cycles + BLOCK + BLOCK_ALONE;
    if (each > 1)
        time = cycles * (each > 2 ? each * MIXED + turns * (1 - MIXED) : turns) *
                   (it->blocks_per_sm == 1 ? ALONE : 1) +
               (it->persistent ? PERSISTENT : ceil(each / it->blocks_per_sm) * BLOCK);
    if (it->slices > 1)
        time += CLUSTER;
    return LAUNCH + time;
}

/* The same, with what was seen of single taps. */
static double calibrated_time_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    double more = 1;
    if (taps_of(self) == 1 && self->layout == GR_CONV_NHWC && it->filters > TILE)
        more = it->tiles > 2    ? (it->persistent ? PERSISTENT_256 : 1)
               : it->persistent ? PERSISTENT_128
                                : TILE_128X128;
    return time_of(self, it) * more;
}

/* Takes the division, with each number of slices, where it is better. */
static void consider(const gr_conv *self, const shape *of, gr_conv_tma_tiling *it, gr_conv_tma_tiling *best) {
    if (!set_box(self, of, it))
        return;
    for (it->slices = 1; it->slices <= MAX_SLICES && it->slices <= k_chunks_of(self); it->slices *= 2) {
        if (it->slices > 1 && it->blocks * it->slices > gr_reference_device.multiprocessors)
            return;
        const int modes =
            it->blocks > (uint64_t)gr_reference_device.multiprocessors * it->blocks_per_sm ? 2 : 1;
        for (int persistent = 0; persistent < modes; ++persistent) {
            it->persistent = persistent == 1;
            if (!divide_shared_memory(self, it))
                continue;
            it->time = calibrated_time_of(self, it);
            if (best->tiles == 0 || it->time < best->time)
                *best = *it;
        }
    }
}

/* All boxes of a shape with so many tiles a picture. */
static void consider_boxes(const gr_conv *self, const shape *of, uint32_t each, bool box_per_tap,
                           gr_conv_tma_tiling *best) {
    enum { TRIED = 4 };
    gr_conv_tma_tiling it = {.tiles = of->tiles,
                             .filters = of->filters,
                             .blocks_per_sm = of->blocks_per_sm,
                             .box_per_tap = box_per_tap};
    it.maps.tiles_per_image = each;
    it.maps.box_images = of->tiles / each;
    for (uint32_t across = 1; across <= each; across *= 2) {
        it.maps.tiles_per_row = across;
        it.maps.box_columns = across * GROUP;
        it.maps.box_rows = each / across * GROUP;
        it.maps.group8_pitch = 0;
        consider(self, of, &it, best);
    }
    /* One row behind the other, with what lies between them. */
    const uint64_t all = (uint64_t)each * TILE, more = halo_of(&self->width, box_per_tap);
    const uint64_t fewest = gr_ceil_div(self->width.out, all);
    for (uint64_t splits = fewest; splits < fewest + TRIED; ++splits) {
        const uint64_t columns = gr_ceil_div(self->width.out, splits);
        uint64_t rows = (all - columns) / (columns + more) + 1;
        if (rows > self->height.out)
            rows = self->height.out;
        it.maps.tiles_per_row = 1;
        it.maps.box_columns = (uint32_t)columns;
        it.maps.box_rows = (uint32_t)rows;
        it.maps.group8_pitch = GROUP;
        it.maps.tile_row_pitch = TILE;
        consider(self, of, &it, best);
    }
}

/* Rows of pixels of one channel. */
static void consider_nchw(const gr_conv *self, const shape *of, gr_conv_tma_tiling *best) {
    gr_conv_tma_tiling it = {.tiles = of->tiles,
                             .filters = of->filters,
                             .blocks_per_sm = of->blocks_per_sm,
                             .box_per_tap = true,
                             .x_is_nchw = true};
    if (self->dtype == GR_DTYPE_f32 && of->filters > TILE)
        it.blocks_per_sm = 1; /* for fragments, too */
    it.maps.tiles_per_image = of->tiles;
    it.maps.tiles_per_row = 1;
    it.maps.box_images = it.maps.box_rows = 1;
    it.maps.box_columns = of->tiles * TILE;
    it.maps.group8_pitch = GROUP;
    it.maps.tile_row_pitch = TILE;
    consider(self, of, &it, best);
}

gr_conv_tma_tiling gr_conv_choose_tma_tiling(const gr_conv *self, bool x_is_nchw) {
    gr_conv_tma_tiling best = {.tiles = 0};
    const bool several = taps_of(self) > 1;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        if (!several && shapes[i].tiles == 4 && shapes[i].filters == TILE)
            continue; /* slower than with half of the pixels (H200) */
        if (x_is_nchw && shapes[i].tiles == 2)
            consider_nchw(self, &shapes[i], &best);
        for (uint32_t each = 1; each <= shapes[i].tiles && !x_is_nchw; each *= 2)
            for (int box_per_tap = !several; box_per_tap < 2; ++box_per_tap)
                consider_boxes(self, &shapes[i], each, box_per_tap, &best);
    }
    return best;
}
