/* What a general plan is made from, and of. */
#ifndef GR_REDUCE_GENERAL_LAYOUT_H
#define GR_REDUCE_GENERAL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"
#include "reduce/general/params.h"

enum {
    GR_MAX_NDIM = 64,
    GR_LARGE_STATE_BYTES = 48, /* as large_states.cuh has it */
};

/* An input as NumPy describes it; strides in bytes. second_strides are those of the `where` mask or of the
   other vector, of the same shape. */
typedef struct gr_layout {
    size_t ndim;
    size_t item_bytes;
    size_t result_bytes; /* of a result */
    uint64_t origin;     /* address of the first element, modulo 256 */
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    int64_t second_stride[GR_MAX_NDIM];
    bool reduced[GR_MAX_NDIM];
    bool has_second;
    bool in_order;    /* positions count (argmin): elements must be numbered in C order */
    bool packed;      /* there are kernels for elements that lie side by side: see axis.c */
    bool only_rows;   /* of those, the kernel `rows` alone */
    bool only_axis;   /* of those for any layout, the kernel `axis` alone; and neither `map`, `tiles` nor
                         `spread` */
    bool single_pass; /* one result from contiguous elements is for the flat kernels */
    bool pair;        /* `second` is another vector rather than a mask */
    bool rearranged; /* results may be made in any order, and what an axis of stride 0 repeats is read once */
    bool idempotent; /* and counts no more than once */
    bool keeps_elements;  /* of a turn, `rows` does, which takes registers */
    bool large_states;    /* a State has up to GR_LARGE_STATE_BYTES, not GR_STATE_BYTES */
    unsigned state_bytes; /* of a State, where those of a thread take the registers of others; or 0 */
} gr_layout;

static inline uint64_t gr_magnitude(int64_t stride) {
    return stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
}

typedef struct gr_general_launch {
    const char *kernel; /* the middle of the name: "rows", "columns", ...; see axis.c */
    uint32_t grid_x, grid_y;
    uint64_t resident;        /* blocks of it that are there at once */
    bool hands_on;            /* its States are for another launch, as it cannot heed GR_APART */
    gr_general_params params; /* in, second, out, flags and initial are the caller's to fill in */
} gr_general_launch;

#endif
