/* What the planners of the general kernels share: blocks that are resident, parts per result, the size of a
   grid, and questions that several of them ask of a layout. */
#ifndef GR_REDUCE_GENERAL_LAUNCH_H
#define GR_REDUCE_GENERAL_LAUNCH_H

#include "reduce/general/layout.h"

enum {
    MAX_TILE_REGION = 512, /* max. bytes of a region of `tiles` */
    SECTOR_BYTES = 32,     /* what memory transfers at least */
    WARP = 32,
};

/* Blocks that the reference device holds at once. */
static inline uint64_t resident(unsigned blocks_per_sm) {
    return (uint64_t)gr_reference_device.multiprocessors * blocks_per_sm;
}

/* Kernels of operators that share a file are compiled without a bound: there only States of a position and
   large ones lower the occupancy. */
static inline uint64_t axis_resident_blocks(const gr_layout *layout) {
    const bool bounded = layout->in_c_order || !layout->only_axis || layout->state_bytes > GR_STATE_BYTES;
    return resident(GR_AXIS_OCCUPANCY(bounded ? layout->state_bytes : 0));
}

/* Parts per result such that `blocks` blocks per part are resident at once. */
static inline uint64_t parts_for(uint64_t blocks, uint64_t max_parts, uint64_t resident_blocks) {
    return gr_max(1, gr_min(resident_blocks / blocks, max_parts));
}

/* Sets `blocks` blocks for each part of the results. Returns false if these are too many for a grid. */
static inline bool set_launch(gr_general_launch *launch, const char *kernel, uint64_t blocks,
                              uint64_t parts) {
    launch->kernel = kernel;
    launch->grid_x = (uint32_t)blocks;
    launch->grid_y = (uint32_t)parts;
    launch->params.parts = parts;
    return blocks <= GR_MAX_GRID;
}

/* Units per thread, from `max_each` down to `min_each`: fewer if half of the threads would be idle. */
static inline uint64_t units_per_thread(uint64_t all, uint64_t threads, uint64_t min_each,
                                        uint64_t max_each) {
    const uint64_t each = all / threads;
    return 2 * each >= max_each ? max_each : gr_max(min_each, each);
}

/* Elements of neighbouring results that a thread of `columns` or `lanes` loads at once. */
static inline uint64_t column_vector(const gr_layout *layout) {
    return gr_min(GR_VECTOR_BYTES / layout->item_bytes, GR_MAX_COLUMNS);
}

/* Whether the first result, and its neighbours along each kept dimension from number `first` on, begin at
   multiples of as many bytes. */
static inline bool starts_aligned(const gr_layout *layout, const gr_dims *keep, size_t first,
                                  uint64_t bytes) {
    bool aligned = layout->origin % bytes == 0;
    for (size_t d = first; d < GR_MAX_DIMS; ++d)
        aligned = aligned && (keep->extent[d] == 1 || keep->stride[d] % (int64_t)bytes == 0);
    return aligned;
}

/* Whether neighbouring elements of a result along the first dimension are neighbours in memory, and those of
   the second vector, too. */
static inline bool has_adjacent_elements(const gr_layout *layout, const gr_dims *along) {
    const int64_t item = (int64_t)layout->item_bytes;
    return along->stride[0] == item && (!layout->pair || along->second_stride[0] == item);
}

static inline bool is_masked(const gr_layout *layout) {
    return layout->has_second && !layout->pair;
}

/* Whether the operator has the kernel `tiles`. */
static inline bool has_tiles(const gr_layout *layout) {
    return !layout->only_axis || (layout->has_pieces && !layout->only_rows);
}

/* Whether there are enough results to give each thread whole ones. */
static inline bool enough_for_whole(const gr_general_params *p) {
    return p->results >= resident(gr_reference_device.threads_per_multiprocessor) / 2;
}

#endif
