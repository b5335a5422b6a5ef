/* Sorts row numbers by integer labels on the device (stable LSD radix sort), which makes segments of groups:
   group_reduce passes the result to a segmented reduction as offsets and permutation. */
#ifndef GR_SEGMENTS_LABELS_LABELS_H
#define GR_SEGMENTS_LABELS_LABELS_H

#include "base/dtypes.h"
#include "program/program.h"

typedef struct gr_labels {
    gr_dtype dtype; /* an integer dtype */
    uint64_t rows, groups;
    int64_t stride; /* stride of the labels, in bytes */
} gr_labels;

/* Whether rows and groups can be counted in 32 bits. */
bool gr_labels_fit(const gr_labels *self);

/* Writes int64: the offset of each group, the end of the last one, and the permutation of all rows. Rows of
   one label keep their order; rows whose label is not a group come last. */
gr_status gr_labels_run(gr_device *device, const gr_labels *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
