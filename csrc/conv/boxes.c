#include "conv/boxes.h"

#include <math.h>

#include "base/limits.h"

enum {
    LINE = 128,  /* bytes of a pixel in shared memory */
    UNIT = 1024, /* where a tile of the tensor cores begins */
    TILE = 64,
    EIGHT = 8,
    MOST_BOX = 256, /* elements along a dimension of a tensor map's box */
    MOST_STAGES = 6,
    MOST_SLICES = 8,
    ENTRY = 16, /* bytes of a stage's barriers, or of a tap */
};
/* Bytes of shared memory for one block of a multiprocessor, and for each of two. */
static const uint64_t ALL = 227 << 10, HALF = 113 << 10;

/* What was seen on an H200, in microseconds: of a launch, of a block, more of one that has a multiprocessor
   for itself, of all blocks that stay, of a cluster; cycles in one, bytes in one from the L2 cache, and from
   shared memory. */
static const double START = 1.5, BEGIN = 1.2, BEGIN_ALONE = 1, RESIDENT = 2.5, JOIN = 2.2, CLOCK = 1755,
                    FETCHED = 45, SHARED = 120;
/* As if results were so many times as many bytes, more where those of NCHW are scattered; how much longer all
   takes with a ring of two stages for filters, with boxes for remainders, or without a neighbour. */
static const double RESULTS = 3.5, SCATTERED = 0.8, SHALLOW = 0.2, REMAINDERS = 0.16, ALONE = 1.06;
static const double MIXED = 0.1; /* what of the last turn others fill */
/* Of what is reckoned so, what 1 x 1 of NHWC takes: by 256 pixels and blocks that stay, by 128 pixels and 128
   filters, which has no room for a third stage of pixels if blocks stay (H200, 22 layers). */
static const double WIDE_STAYS = 0.86, STAYS = 1.12, TALL = 1.08;

typedef struct shape {
    uint32_t tiles, filters, room;
} shape;

static const shape shapes[] = {{2, 64, 2}, {2, 128, 2}, {4, 64, 2}, {4, 128, 1}};

static uint32_t taps_of(const gr_conv *self) {
    return (uint32_t)(self->down.kernel * self->along.kernel);
}

/* Elements of channels that a line holds, and lines of a pixel. */
static uint64_t chunks_of(const gr_conv *self) {
    return gr_ceil_div(self->channels * gr_dtypes[self->dtype].item_bytes, LINE);
}

/* How many boxes the taps see: one for each remainder that the stride leaves of where they are. */
static uint32_t boxes_of(const gr_conv_axis *axis) {
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
static uint64_t more_of(const gr_conv_axis *axis, bool apart) {
    return apart ? 0 : (axis->kernel - 1) * axis->dilation / axis->stride;
}

/* Elements of x over which so many pixels of a box lie. */
static bool has_room(uint64_t pixels, const gr_conv_axis *axis) {
    return pixels > 0 && (pixels - 1) * axis->stride + 1 <= MOST_BOX;
}

/* Fills in what follows from the box; false where it is too large. */
static bool settle(const gr_conv *self, const shape *of, gr_conv_boxes *it) {
    gr_conv_maps *maps = &it->maps;
    const uint64_t more = more_of(&self->along, it->apart), below = more_of(&self->down, it->apart);
    const uint64_t columns = maps->box_columns + more, rows = maps->box_rows + below;
    if (!has_room(columns, &self->along) || !has_room(rows, &self->down) || maps->box_pictures > MOST_BOX)
        return false;
    maps->pitch = (uint32_t)columns;
    maps->plane = (uint32_t)(columns * rows);
    if (maps->eights == 0) { /* tiles of 8 by 8 */
        maps->eights = maps->pitch;
        maps->tile_down = EIGHT * maps->pitch;
    }
    const uint32_t last = (of->tiles - 1) % maps->tiles_each;
    const uint64_t reach = (of->tiles - 1) / maps->tiles_each * maps->plane +
                           last / maps->tiles_across * maps->tile_down +
                           (uint64_t)last % maps->tiles_across * EIGHT + (EIGHT - 1) * maps->eights + EIGHT +
                           below * maps->pitch + more;
    const uint64_t pixels = maps->plane * (uint64_t)maps->box_pictures;
    maps->box_bytes = (uint32_t)(pixels * LINE);
    maps->x_bytes = (uint32_t)(gr_ceil_div((pixels > reach ? pixels : reach) * LINE, UNIT) * UNIT);
    maps->across = (uint32_t)gr_ceil_div(self->along.out, maps->box_columns);
    maps->down = (uint32_t)gr_ceil_div(self->down.out, maps->box_rows);
    maps->parts = (uint32_t)gr_ceil_div(self->filters, of->filters);
    it->blocks = (uint64_t)maps->across * maps->down * gr_ceil_div(self->batch, maps->box_pictures) *
                 maps->parts * self->groups;
    return true;
}

/* Divides shared memory into stages; false where there is too little for a ring. */
static bool divide(const gr_conv *self, gr_conv_boxes *it) {
    gr_conv_maps *maps = &it->maps;
    const uint64_t w = it->filters * LINE, taps = taps_of(self);
    const uint64_t boxes = it->apart ? taps : (uint64_t)boxes_of(&self->along) * boxes_of(&self->down);
    const bool alone = it->room == 1 || it->blocks * it->slices <= gr_reference_limits.multiprocessors;
    const uint64_t room = (alone ? ALL : HALF) - (GR_CONV_MOST_TAPS + 2 * MOST_STAGES) * ENTRY -
                          (it->resident ? GR_CONV_RESULTS_ROOM : 0);
    const uint64_t turns =
        it->resident ? MOST_STAGES : gr_ceil_div(chunks_of(self), it->slices) * boxes; /* of boxes, at most */
    uint64_t x = it->apart ? room / (maps->x_bytes + w) : 2;
    if (x > MOST_STAGES)
        x = MOST_STAGES;
    if (x > turns)
        x = turns;
    /* A stage is let go of when the next one is asked for, so one alone is for one turn. */
    if (x == 0 || (x == 1 && turns > 1) || x * maps->x_bytes >= room)
        return false;
    uint64_t filters = (room - x * maps->x_bytes) / w;
    if (filters > MOST_STAGES)
        filters = MOST_STAGES;
    if (filters > turns * taps / boxes)
        filters = turns * taps / boxes;
    if (filters == 0 || (filters == 1 && turns * taps / boxes > 1))
        return false;
    maps->x_stages = (uint32_t)x;
    maps->w_stages = (uint32_t)filters;
    maps->room = it->resident
                     ? (uint32_t)(x * maps->x_bytes + filters * w + (x + filters + GR_CONV_MOST_TAPS) * ENTRY)
                     : 0;
    return true;
}

/* Cycles of a block: what it multiplies, reads from shared memory or gets from the L2 cache, whichever takes
   longest, and its results. */
static double cycles_of(const gr_conv *self, const gr_conv_boxes *it) {
    enum { TENSOR = 4096, RUN = 64 }; /* multiply-adds a cycle; pixels of NCHW that are stored together */
    const double chunks = (double)gr_ceil_div(chunks_of(self), it->slices), taps = taps_of(self);
    const double remainders = boxes_of(&self->along) * boxes_of(&self->down);
    const double pixels = it->tiles * TILE, filters = it->filters;
    const double boxes = it->apart ? taps : remainders;
    const double brought = chunks * (boxes * it->maps.box_bytes + taps * filters * LINE);
    const double read = chunks * taps * it->tiles * (TILE + filters) * LINE + brought;
    const double products = chunks * taps * pixels * filters * LINE / TENSOR;
    const double results = pixels * filters * (double)gr_dtypes[self->dtype].item_bytes / FETCHED;
    double cycles = fmax(products, fmax(read / SHARED, brought / FETCHED)) + RESULTS * results;
    if (it->maps.w_stages < 3 && taps > 1)
        cycles *= 1 + SHALLOW;
    if (!it->apart && remainders > 1)
        cycles *= 1 + REMAINDERS;
    if (self->layout == GR_CONV_NCHW && !it->planes)
        cycles += SCATTERED * results * EIGHT / fmin(RUN, it->maps.pitch);
    return cycles;
}

/* About how many microseconds it takes, in as many turns as a multiprocessor has blocks. */
static double time_of(const gr_conv *self, const gr_conv_boxes *it) {
    const double processors = gr_reference_limits.multiprocessors;
    const double each = (double)(it->blocks * it->slices) / processors, turns = ceil(each);
    const double cycles = cycles_of(self, it) / CLOCK;
    double time = cycles + BEGIN + BEGIN_ALONE;
    if (each > 1)
        time =
            cycles * (each > 2 ? each * MIXED + turns * (1 - MIXED) : turns) * (it->room == 1 ? ALONE : 1) +
            (it->resident ? RESIDENT : ceil(each / it->room) * BEGIN);
    if (it->slices > 1)
        time += JOIN;
    return START + time;
}

/* The same, with what was seen of single taps. */
static double time_seen(const gr_conv *self, const gr_conv_boxes *it) {
    double more = 1;
    if (taps_of(self) == 1 && self->layout == GR_CONV_NHWC && it->filters > TILE)
        more = it->tiles > 2 ? (it->resident ? WIDE_STAYS : 1) : it->resident ? STAYS : TALL;
    return time_of(self, it) * more;
}

/* Takes the division, with each number of slices, where it is better. */
static void consider(const gr_conv *self, const shape *of, gr_conv_boxes *it, gr_conv_boxes *best) {
    if (!settle(self, of, it))
        return;
    for (it->slices = 1; it->slices <= MOST_SLICES && it->slices <= chunks_of(self); it->slices *= 2) {
        if (it->slices > 1 && it->blocks * it->slices > gr_reference_limits.multiprocessors)
            return;
        const int ways = it->blocks > (uint64_t)gr_reference_limits.multiprocessors * it->room ? 2 : 1;
        for (int resident = 0; resident < ways; ++resident) {
            it->resident = resident == 1;
            if (!divide(self, it))
                continue;
            it->time = time_seen(self, it);
            if (best->tiles == 0 || it->time < best->time)
                *best = *it;
        }
    }
}

/* All boxes of a shape with so many tiles a picture. */
static void consider_boxes(const gr_conv *self, const shape *of, uint32_t each, bool apart,
                           gr_conv_boxes *best) {
    enum { TRIED = 4 };
    gr_conv_boxes it = {.tiles = of->tiles, .filters = of->filters, .room = of->room, .apart = apart};
    it.maps.tiles_each = each;
    it.maps.box_pictures = of->tiles / each;
    for (uint32_t across = 1; across <= each; across *= 2) {
        it.maps.tiles_across = across;
        it.maps.box_columns = across * EIGHT;
        it.maps.box_rows = each / across * EIGHT;
        it.maps.eights = 0;
        consider(self, of, &it, best);
    }
    /* One row behind the other, with what lies between them. */
    const uint64_t all = (uint64_t)each * TILE, more = more_of(&self->along, apart);
    const uint64_t least = gr_ceil_div(self->along.out, all);
    for (uint64_t parts = least; parts < least + TRIED; ++parts) {
        const uint64_t columns = gr_ceil_div(self->along.out, parts);
        uint64_t rows = (all - columns) / (columns + more) + 1;
        if (rows > self->down.out)
            rows = self->down.out;
        it.maps.tiles_across = 1;
        it.maps.box_columns = (uint32_t)columns;
        it.maps.box_rows = (uint32_t)rows;
        it.maps.eights = EIGHT;
        it.maps.tile_down = TILE;
        consider(self, of, &it, best);
    }
}

/* Rows of pixels of one channel. */
static void consider_planes(const gr_conv *self, const shape *of, gr_conv_boxes *best) {
    gr_conv_boxes it = {
        .tiles = of->tiles, .filters = of->filters, .room = of->room, .apart = true, .planes = true};
    if (self->dtype == GR_DTYPE_f32 && of->filters > TILE)
        it.room = 1; /* for fragments, too */
    it.maps.tiles_each = of->tiles;
    it.maps.tiles_across = 1;
    it.maps.box_pictures = it.maps.box_rows = 1;
    it.maps.box_columns = of->tiles * TILE;
    it.maps.eights = EIGHT;
    it.maps.tile_down = TILE;
    consider(self, of, &it, best);
}

gr_conv_boxes gr_conv_boxes_choose(const gr_conv *self, bool planes) {
    gr_conv_boxes best = {.tiles = 0};
    const bool several = taps_of(self) > 1;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        if (!several && shapes[i].tiles == 4 && shapes[i].filters == TILE)
            continue; /* slower than with half of the pixels (H200) */
        if (planes && shapes[i].tiles == 2)
            consider_planes(self, &shapes[i], &best);
        for (uint32_t each = 1; each <= shapes[i].tiles && !planes; each *= 2)
            for (int apart = !several; apart < 2; ++apart)
                consider_boxes(self, &shapes[i], each, apart, &best);
    }
    return best;
}
