/* The input and the output of the general planner: how an array is stored, as NumPy describes it, and one
   planned launch. Plans are pure functions of these and of the reference device. */
#ifndef GR_REDUCE_GENERAL_LAYOUT_H
#define GR_REDUCE_GENERAL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"
#include "reduce/general/params.h"

enum { GR_MAX_NDIM = 64 };

/* An input as NumPy describes it; strides in bytes. `second_stride` belongs to the `where` mask or to the
   second vector of a dot product, which has the same shape. */
typedef struct gr_layout {
    size_t ndim;
    size_t item_bytes;
    size_t result_bytes; /* bytes per result */
    uint64_t origin;     /* address of the first element, modulo 256 */
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    int64_t second_stride[GR_MAX_NDIM];
    bool reduced[GR_MAX_NDIM];
    bool has_second;
    bool in_c_order; /* The result is a position (argmin): elements are numbered in C order. */
    bool packed;     /* The operator has kernels for contiguous elements: see axis.c. */
    bool only_rows;  /* The only kernel for contiguous elements that the operator has is `rows`. */
    bool only_axis;  /* The only kernel for any layout that the operator has is `axis`; `map` and `spread` are
                        missing, too, and mostly `tiles`: see has_tiles in launch.h. */
    bool short_tiles; /* Elements are slow to combine one by one: `tiles` takes up to 127 bytes. */
    bool single_pass; /* The flat kernels reduce contiguous elements to one result. */
    bool pair;        /* `second` is a vector rather than a mask. */
    bool
        rearranged; /* Elements may be combined in any order, and a broadcast axis (stride 0) is read once. */
    bool exact_mean;     /* The result is an exact sum divided by the number of elements, of which a broadcast
                            axis multiplies both. */
    bool idempotent;     /* op(x, x) == x: multiplicity does not matter. */
    bool keeps_elements; /* A thread of `rows` keeps the elements of an iteration in registers, which lowers
                            occupancy. */
    bool has_pieces;     /* The operator has the kernel `pieces`. */
    bool batches;        /* Elements of a result are added in batches: see batch_accumulate.cuh. */
    bool compute_bound;  /* Arithmetic takes longer than memory. */
    bool fixed_order; /* Threads of `tiles` take elements in an order that depends on their number alone. */
    bool can_place;   /* Results may be written in the order of the elements, and copied to the output. */
    bool
        fixed_axis; /* `axis` takes elements along one axis in an order that depends on their number alone. */
    unsigned state_bytes; /* bytes of a State whose registers lower occupancy; else 0 */
    /* Elements of a lane in a strip of `pieces` of two vectors, or of a vector under a mask; 0: no such
       kernel. */
    unsigned pair_elements, masked_elements;
} gr_layout;

static inline uint64_t gr_magnitude(int64_t stride) {
    return stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
}

typedef struct gr_general_launch {
    const char *kernel; /* the middle of the kernel's name: "rows", "columns", ...; see axis.c */
    uint32_t grid_x, grid_y;
    uint64_t resident_blocks; /* blocks that the reference device holds at once */
    bool of_pieces; /* The States of the launch are those of pieces: pass 2 combines them by their tree. */
    bool of_lanes;  /* The same of lanes. */
    bool writes_states; /* The launch writes States for pass 2, as its kernel cannot write to a scattered
                           output. */
    gr_general_params params; /* The caller fills in `in`, `second`, `out`, `flags` and `initial`. */
} gr_general_launch;

/* Plans a launch (axis.c): chooses the kernel by the memory layout (`map`, `tiles`, `rows`, `columns`,
   `spread`, `whole` or `axis`), its grid, and the mapping of threads to results and elements.
   `launch->params` holds the merged dimensions, the number of results and the elements per result. Fills in
   the kernel, the grid and `parts`, the number of States that each result is made from: 1 if the launch
   writes results itself. Returns false if the results are too many for one grid. */
bool gr_axis_plan(const gr_layout *layout, gr_general_launch *launch);

/* Plans pass 2, which combines `params.count` rows of States into results. */
bool gr_last_plan(gr_general_launch *launch);

#endif
