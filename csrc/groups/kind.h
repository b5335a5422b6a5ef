/* What the plans of exact group sums have in common. */
#ifndef GR_GROUPS_KIND_H
#define GR_GROUPS_KIND_H

#include "groups/params.h"
#include "groups/request.h"

enum { GR_GROUP_STATIC_BYTES = 2560 }; /* static shared memory of the window kernels */

/* Kernels of a dtype, and the planes per result. */
typedef struct gr_group_kind {
    const char *name;
    uint32_t planes, components, item_bytes; /* item_bytes: per component */
    uint32_t words;                          /* per window; 0: there are no window kernels */
    const char *window_name;                 /* dtype in the names of the window kernels */
} gr_group_kind;

gr_group_kind gr_group_kind_of(gr_op op, gr_dtype dtype);

/* Buffers of a program. */
typedef struct gr_group_buffers {
    uint32_t in, labels, out, header, planes, flags, counts, slabs;
    bool has_counts, has_slabs;
} gr_group_buffers;

/* Whether elements and labels are as window kernels read them: one line of one column, contiguous but for an
   integer that repeats. */
bool gr_group_is_contiguous(const gr_groups *self, const gr_group_kind *of);

/* Whether all rows are one integer in memory, which window kernels read once. */
bool gr_group_repeats(const gr_groups *self);

/* Shared memory of a number of windows of some groups, and of their numbers of rows, of means. */
uint64_t gr_group_window_bytes(const gr_groups *self, const gr_group_kind *of, uint64_t groups,
                               uint32_t windows);

/* Appends the launch of a kernel, without addresses. */
gr_step *gr_group_step(gr_program *program, const void *params, size_t bytes, const gr_device_caps *caps,
                       uint64_t blocks);

/* Appends the launch of a kernel whose parameters begin with those of group sums. */
gr_step *gr_group_launch(gr_program *program, const void *params, size_t bytes, const gr_group_buffers *at,
                         const gr_device_caps *caps, uint64_t blocks);

#endif
