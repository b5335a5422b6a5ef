/* Types and functions that the plans of exact group sums share. */
#ifndef GR_GROUPS_KIND_H
#define GR_GROUPS_KIND_H

#include "groups/params.h"
#include "groups/request.h"

enum { GR_GROUP_STATIC_BYTES = 2560 }; /* static shared memory of the window kernels */

/* Properties of the kernels for an operator and a dtype. A plane is a 64-bit integer per result for a range
   of exponents, a window a plane in shared memory: see params.h. */
typedef struct gr_group_kind {
    const char *name;                        /* dtype in the names of the other kernels */
    uint32_t planes, components, item_bytes; /* per result; per element; per component */
    uint32_t words;          /* 32-bit words per group and window; 0: there are no window kernels */
    const char *window_name; /* dtype in the names of the window kernels; NULL without them */
} gr_group_kind;

gr_group_kind gr_group_kind_of(gr_op op, gr_dtype dtype);

/* Indices of the buffers in the program: one per address of gr_group_params. */
typedef struct gr_group_buffers {
    uint32_t in, labels, out, header, planes, flags, counts, slabs;
    bool has_counts, has_slabs; /* false: the kernels have no such buffer */
} gr_group_buffers;

/* Whether window kernels can read the elements and labels: one line of one column, contiguous or (elements)
   one repeated integer. */
bool gr_group_is_contiguous(const gr_groups *self, const gr_group_kind *of);

/* Whether all rows are one integer in memory, which window kernels read once. */
bool gr_group_repeats(const gr_groups *self);

/* Returns the bytes of shared memory of `windows` windows for each of `groups` groups and, for means, their
   numbers of rows. */
uint64_t gr_group_window_bytes(const gr_groups *self, const gr_group_kind *of, uint64_t groups,
                               uint32_t windows);

/* Appends the launch of a kernel, without addresses. */
gr_step *gr_group_step(gr_program *program, const void *params, size_t bytes, const gr_device_caps *caps,
                       uint64_t blocks);

/* Appends the launch of a kernel whose parameters begin with a gr_group_params. The caller sets the kernel's
   file and entry. */
gr_step *gr_group_launch(gr_program *program, const void *params, size_t bytes, const gr_group_buffers *at,
                         const gr_device_caps *caps, uint64_t blocks);

#endif
