/* Chooses the tiling of an implicit GEMM by TMA (c8, c9): which box of pixels a thread block computes,
   whether all taps read one box of x or each its own, how shared memory is divided into pipeline stages,
   split-K by clusters and persistent blocks. Up to 80 tilings are compared by a cost model with rates
   measured on an H200. */
#include <math.h>

#include "base/limits.h"
#include "conv/internal.h"

enum {
    LINE = 128,    /* bytes of channels per pixel in shared memory: the span of the 128-byte swizzle */
    UNIT = 1024,   /* alignment of a wgmma tile with the 128-byte swizzle, bytes */
    TILE = 64,     /* pixels per wgmma (its m) */
    GROUP = 8,     /* rows of a core matrix of wgmma */
    MAX_BOX = 256, /* limit of a tensor map's boxDim, elements */
    MAX_STAGES = 6,
    MAX_SLICES = GR_CONV_MAX_PARTS,
    ENTRY = 16, /* bytes of the mbarriers of a stage or of a tap */
};

/* Bytes of shared memory for one block per SM, and for each of two. */
static const uint64_t ALL = GR_REFERENCE_SHARED, HALF = 113 << 10;

/* Measured on an H200. Microseconds: a launch; the start of a block; more if it is alone on its SM; the start
   of persistent blocks; the reduction in a cluster. Then cycles per microsecond, and bytes per cycle from the
   L2 cache and from shared memory. */
static const double LAUNCH = 1.5, BLOCK = 1.2, BLOCK_ALONE = 1, PERSISTENT = 2.5, CLUSTER = 2.2,
                    CYCLES_PER_US = 1755, L2_BYTES = 45, SHARED_BYTES = 120;
/* Cost of storing results relative to loading the same bytes, and what scattered NCHW adds. Slowdowns: a
   pipeline of filters with two stages, strided boxes, one block per SM. */
static const double RESULTS = 3.5, SCATTERED = 0.8, SHALLOW = 0.2, REMAINDERS = 0.16, ALONE = 1.06;
/* Slowdown of boxes whose lines of channels are a quarter full or less (7 images of 118 x 100 x 16, 347
   filters of 3 x 3, 48 us in float16). */
static const double FEW_CHANNELS = 1.5;
/* Slowdowns of clusters of blocks with 256 pixels, and of several waves of blocks that take all parts of k.
 */
static const double CLUSTERS_256 = 1.1, WAVES_OF_PARTS = 1.2;
static const double MIXED = 0.1; /* share of the last wave that overlaps with others */
/* Corrections for 1 x 1 in NHWC, measured on 22 layers (H200): 256 pixels and persistent blocks; 128 pixels
   and 128 filters, persistent (no third stage of pixels fits) and not. */
static const double PERSISTENT_256 = 0.86, PERSISTENT_128 = 1.12, TILE_128X128 = 1.08;

/* Kernels exist for these: tiles of 64 pixels and filters per block, and blocks that fit on an SM. */
typedef struct shape {
    uint32_t tiles, filters, blocks_per_sm;
} shape;

static const shape shapes[] = {{2, 64, 2}, {2, 128, 2}, {4, 64, 2}, {4, 128, 1}};

/* Returns the k-chunks: 128-byte lines of channels per pixel. */
static uint64_t k_chunks_of(const gr_conv *self) {
    return gr_ceil_div(self->channels * gr_dtypes[self->dtype].item_bytes, LINE);
}

/* Returns the boxes along an axis: one for each remainder of a tap's offset modulo the stride. */
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

/* Returns the halo: pixels of a box beyond those that the first tap reads. */
static uint64_t halo_of(const gr_conv_axis *axis, bool box_per_tap) {
    return box_per_tap ? 0 : (axis->kernel - 1) * axis->dilation / axis->stride;
}

/* Returns whether `pixels` pixels, at the stride of the axis, are within the limit of a box. */
static bool fits_in_box(uint64_t pixels, const gr_conv_axis *axis) {
    return pixels > 0 && (pixels - 1) * axis->stride + 1 <= MAX_BOX;
}

/* Sets the parameters that follow from the box; returns false if it is too large for TMA. */
static bool set_box(const gr_conv *self, gr_conv_tma_tiling *it) {
    gr_conv_tma_params *maps = &it->maps;
    const uint64_t halo_columns = halo_of(&self->width, it->box_per_tap),
                   halo_rows = halo_of(&self->height, it->box_per_tap);
    const uint64_t columns = maps->box_columns + halo_columns, rows = maps->box_rows + halo_rows;
    if (!fits_in_box(columns, &self->width) || !fits_in_box(rows, &self->height) ||
        maps->box_images > MAX_BOX)
        return false;
    maps->pitch = (uint32_t)columns;
    maps->plane = (uint32_t)(columns * rows);
    if (maps->group8_pitch == 0) { /* tiles of 8 x 8 pixels */
        maps->group8_pitch = maps->pitch;
        maps->tile_row_pitch = GROUP * maps->pitch;
    }
    const uint32_t last = (it->tiles - 1) % maps->tiles_per_image;
    const uint64_t reach = (it->tiles - 1) / maps->tiles_per_image * maps->plane +
                           last / maps->tiles_per_row * maps->tile_row_pitch +
                           (uint64_t)last % maps->tiles_per_row * GROUP + (GROUP - 1) * maps->group8_pitch +
                           GROUP + halo_rows * maps->pitch + halo_columns;
    const uint64_t pixels = maps->plane * (uint64_t)maps->box_images;
    maps->box_bytes = (uint32_t)(pixels * LINE);
    maps->x_stage_bytes = (uint32_t)(gr_ceil_div(gr_max(pixels, reach) * LINE, UNIT) * UNIT);
    maps->boxes_x = (uint32_t)gr_ceil_div(self->width.out, maps->box_columns);
    maps->boxes_y = (uint32_t)gr_ceil_div(self->height.out, maps->box_rows);
    maps->filter_tiles = (uint32_t)gr_ceil_div(self->filters, it->filters);
    it->blocks = (uint64_t)maps->boxes_x * maps->boxes_y * gr_ceil_div(self->batch, maps->box_images) *
                 maps->filter_tiles * self->groups;
    return true;
}

/* Returns the blocks that run at once with one per SM. The blocks of a cluster need SMs of one GPC, whose
   number is no multiple of 4 or 8 (H200: 30 clusters of 4 run at once, 14 of 8). */
static uint64_t places_of(uint32_t slices) {
    enum { PLACES_OF_4 = 30 * 4, PLACES_OF_8 = 14 * 8 };
    return slices == 8 ? PLACES_OF_8 : slices == 4 ? PLACES_OF_4 : gr_reference_device.multiprocessors;
}

/* Divides shared memory into pipeline stages; returns false if too few fit. */
static bool divide_shared_memory(const gr_conv *self, gr_conv_tma_tiling *it) {
    gr_conv_tma_params *maps = &it->maps;
    const uint64_t w = it->filters * LINE, taps = gr_conv_taps(self);
    const uint64_t boxes =
        it->box_per_tap ? taps : (uint64_t)boxes_of_axis(&self->width) * boxes_of_axis(&self->height);
    const bool alone = it->blocks_per_sm == 1 || it->blocks * it->slices <= places_of(it->slices);
    const uint64_t capacity = (alone ? ALL : HALF) - (GR_CONV_MAX_TAPS + 2 * MAX_STAGES) * ENTRY -
                              (it->persistent ? GR_CONV_OUTPUT_STAGING_BYTES : 0);
    const uint64_t boxes_loaded =
        it->persistent ? MAX_STAGES : gr_ceil_div(k_chunks_of(self), it->slices) * boxes; /* per block */
    const uint64_t fitting = it->box_per_tap ? capacity / (maps->x_stage_bytes + w) : 2;
    const uint64_t x = gr_min(gr_min(fitting, MAX_STAGES), boxes_loaded);
    /* A stage is released when the next one is acquired, so that a single stage can serve a single box. */
    if (x == 0 || (x == 1 && boxes_loaded > 1) || x * maps->x_stage_bytes >= capacity)
        return false;
    const uint64_t filters_loaded = boxes_loaded * taps / boxes;
    const uint64_t filters =
        gr_min(gr_min((capacity - x * maps->x_stage_bytes) / w, MAX_STAGES), filters_loaded);
    if (filters == 0 || (filters == 1 && filters_loaded > 1))
        return false;
    maps->x_stages = (uint32_t)x;
    maps->w_stages = (uint32_t)filters;
    const uint64_t pipelines =
        x * maps->x_stage_bytes + filters * w + (x + filters + GR_CONV_MAX_TAPS) * ENTRY;
    maps->output_offset = it->persistent ? (uint32_t)pipelines : 0;
    return true;
}

/* Returns cycles per block: the longest of multiply-adds, reads of shared memory and loads from the
   L2 cache, and the stores of results. */
static double cycles_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    /* multiply-adds per cycle; pixels per contiguous store in NCHW; cycles per further part of k */
    enum { TENSOR = 4096, RUN = 64, PART = 300 };
    const double chunks = (double)gr_ceil_div(k_chunks_of(self), it->slices),
                 taps = (double)gr_conv_taps(self);
    const double remainders = boxes_of_axis(&self->width) * boxes_of_axis(&self->height);
    const double pixels = it->tiles * TILE, filters = it->filters;
    const double boxes = it->box_per_tap ? taps : remainders;
    const double loaded = chunks * (boxes * it->maps.box_bytes + taps * filters * LINE);
    const double read = chunks * taps * it->tiles * (TILE + filters) * LINE + loaded;
    const double products = chunks * taps * pixels * filters * LINE / TENSOR;
    const double results = pixels * filters * (double)gr_dtypes[self->dtype].item_bytes / L2_BYTES;
    double cycles = fmax(products, fmax(read / SHARED_BYTES, loaded / L2_BYTES)) + RESULTS * results +
                    (it->maps.rounds - 1) * PART;
    if (it->maps.w_stages < 3 && taps > 1)
        cycles *= 1 + SHALLOW;
    if (!it->box_per_tap && remainders > 1)
        cycles *= 1 + REMAINDERS;
    if (self->channels * gr_dtypes[self->dtype].item_bytes <= LINE / 4)
        cycles *= FEW_CHANNELS;
    if (self->layout == GR_CONV_NCHW && !it->x_is_nchw)
        cycles += SCATTERED * results * GROUP / fmin(RUN, it->maps.pitch);
    return cycles;
}

/* Returns the cycles below which a block does not come if it is alone on its SM, where nothing hides the
   latency of its steps (H200, 3 x 3 taps of 512 channels, TF32: 144 steps of 64 filters 78 us; 3 x 3 taps of
   256 channels, 72 steps of 128 filters 30 us). */
static double latency_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    enum { STEP = 1000, STEP_OF_128 = 850 };
    const uint64_t steps = gr_ceil_div(k_chunks_of(self), it->slices) * gr_conv_taps(self);
    return (double)(steps * (it->filters > TILE ? STEP_OF_128 : STEP));
}

/* Returns the estimated microseconds, from the waves of blocks per SM. */
static double time_of(const gr_conv *self, const gr_conv_tma_tiling *it) {
    const double each = (double)(it->blocks * it->slices) / (double)places_of(it->slices), waves = ceil(each);
    const bool alone = it->blocks_per_sm == 1 || each <= 1, has_parts = it->parts > 1;
    const double cycles = (each > 1 && it->maps.rounds > 1 ? WAVES_OF_PARTS : 1) *
                          fmax(cycles_of(self, it), has_parts && alone ? latency_of(self, it) : 0) /
                          CYCLES_PER_US;
    double time = cycles + BLOCK + BLOCK_ALONE;
    if (each > 1)
        time = cycles * (each > 2 ? each * MIXED + waves * (1 - MIXED) : waves) *
                   (it->blocks_per_sm == 1 ? ALONE : 1) +
               (it->persistent ? PERSISTENT : ceil(each / it->blocks_per_sm) * BLOCK);
    if (it->slices > 1)
        time += CLUSTER * ceil(each / it->blocks_per_sm);
    if (it->slices > 1 && has_parts)
        time *= it->tiles > 2 ? CLUSTERS_256 : 1;
    double correction = 1; /* of 1 x 1 */
    if (gr_conv_taps(self) == 1 && self->layout == GR_CONV_NHWC && it->filters > TILE)
        correction = it->tiles > 2    ? (it->persistent ? PERSISTENT_256 : 1)
                     : it->persistent ? PERSISTENT_128
                                      : TILE_128X128;
    return (LAUNCH + time) * correction;
}

/* Returns whether a block can take all parts of k, one after the other. The kernel has the sums of a part and
   of all parts in registers. */
static bool takes_parts(const gr_conv *self, const gr_conv_tma_tiling *it) {
    const bool has_kernel = it->filters == TILE || !it->x_is_nchw || self->dtype == GR_DTYPE_f32;
    return it->slices == 1 && it->tiles == 2 && has_kernel && it->parts <= k_chunks_of(self);
}

/* Evaluates a box with each number of split-K slices, persistent or not, and keeps the fastest in *best.
   Where `it->parts` does not fix the number, several slices are for blocks that leave SMs idle. */
static void consider(const gr_conv *self, gr_conv_tma_tiling *it, gr_conv_tma_tiling *best) {
    gr_conv_tma_params *maps = &it->maps;
    const uint32_t blocks_per_sm = it->blocks_per_sm;
    if (!set_box(self, it))
        return;
    for (it->slices = 1; it->slices <= MAX_SLICES && it->slices <= k_chunks_of(self); it->slices *= 2) {
        maps->rounds = it->parts > 0 ? it->parts / it->slices : 1;
        it->blocks_per_sm = blocks_per_sm;
        if (it->parts > 0 && it->parts != it->slices) {
            if (!takes_parts(self, it))
                continue;
            if (it->filters > TILE)
                it->blocks_per_sm = 1; /* of the kernel "_parts" */
        }
        if (it->parts == 0 && it->slices > 1 && it->blocks * it->slices > places_of(it->slices))
            return;
        const int modes =
            it->slices == 1 && it->blocks > (uint64_t)gr_reference_device.multiprocessors * it->blocks_per_sm
                ? 2
                : 1;
        for (int persistent = 0; persistent < modes; ++persistent) {
            it->persistent = persistent == 1;
            if (!divide_shared_memory(self, it))
                continue;
            it->time = time_of(self, it);
            if (best->tiles == 0 || it->time < best->time)
                *best = *it;
        }
    }
}

/* Evaluates a box of `columns` by `rows` pixels. `group8_pitch` 0: tiles of 8 x 8 pixels, else of consecutive
   pixels. */
static void consider_box(const gr_conv *self, uint64_t columns, uint64_t rows, uint32_t group8_pitch,
                         gr_conv_tma_tiling *it, gr_conv_tma_tiling *best) {
    it->maps.box_columns = (uint32_t)columns;
    it->maps.box_rows = (uint32_t)rows;
    it->maps.group8_pitch = group8_pitch;
    it->maps.tile_row_pitch = TILE;
    consider(self, it, best);
}

/* Evaluates all boxes of a shape with `each` tiles per image. */
static void consider_boxes(const gr_conv *self, uint32_t each, gr_conv_tma_tiling *it,
                           gr_conv_tma_tiling *best) {
    enum { TRIED = 4 };
    it->maps.tiles_per_image = each;
    it->maps.box_images = it->tiles / each;
    for (uint32_t tiles_per_row = 1; tiles_per_row <= each; tiles_per_row *= 2) {
        it->maps.tiles_per_row = tiles_per_row;
        consider_box(self, tiles_per_row * GROUP, each / tiles_per_row * GROUP, 0, it, best);
    }
    /* Rows of pixels, one after the other with their halos; tiles are 64 consecutive pixels of the box. */
    const uint64_t all = (uint64_t)each * TILE, more = halo_of(&self->width, it->box_per_tap);
    const uint64_t fewest = gr_ceil_div(self->width.out, all);
    it->maps.tiles_per_row = 1;
    for (uint64_t splits = fewest; splits < fewest + TRIED; ++splits) {
        const uint64_t columns = gr_ceil_div(self->width.out, splits);
        const uint64_t rows = gr_min((all - columns) / (columns + more) + 1, self->height.out);
        consider_box(self, columns, rows, GROUP, it, best);
    }
}

/* Evaluates boxes of an image in NCHW: pixels of one channel. */
static void consider_nchw(const gr_conv *self, gr_conv_tma_tiling *it, gr_conv_tma_tiling *best) {
    if (self->dtype == GR_DTYPE_f32 && it->filters > TILE)
        it->blocks_per_sm = 1; /* registers for fragments leave one block per SM */
    it->x_is_nchw = it->box_per_tap = true;
    it->maps.tiles_per_image = it->tiles;
    it->maps.tiles_per_row = it->maps.box_images = 1;
    consider_box(self, it->tiles * TILE, 1, GROUP, it, best);
}

gr_conv_tma_tiling gr_conv_choose_tma_tiling(const gr_conv *self, bool x_is_nchw, uint32_t parts) {
    gr_conv_tma_tiling best = {.tiles = 0};
    const bool several = gr_conv_taps(self) > 1;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        const shape *of = &shapes[i];
        gr_conv_tma_tiling it = {
            .tiles = of->tiles, .filters = of->filters, .blocks_per_sm = of->blocks_per_sm, .parts = parts};
        if (!several && of->tiles == 4 && of->filters == TILE)
            continue; /* slower than with half of the pixels (H200) */
        if (x_is_nchw && of->tiles == 2)
            consider_nchw(self, &it, &best);
        for (uint32_t each = 1; each <= of->tiles && !x_is_nchw; each *= 2)
            for (int box_per_tap = !several; box_per_tap < 2; ++box_per_tap) {
                it.box_per_tap = box_per_tap == 1;
                consider_boxes(self, each, &it, &best);
            }
    }
    /* Latency does not decide between tiles of undivided k, but between numbers of parts. */
    if (parts == 1 && several && best.tiles > 0 && best.blocks <= gr_reference_device.multiprocessors)
        best.time = fmax(best.time, LAUNCH + BLOCK + BLOCK_ALONE + latency_of(self, &best) / CYCLES_PER_US);
    return best;
}
