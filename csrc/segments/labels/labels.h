/* Rows in the order of their labels, on the device: what segments take for groups. */
#ifndef GR_SEGMENTS_LABELS_LABELS_H
#define GR_SEGMENTS_LABELS_LABELS_H

#include "base/dtypes.h"
#include "program/program.h"

typedef struct gr_labels {
    gr_dtype dtype; /* an integer one */
    uint64_t rows, groups;
    int64_t stride; /* of the labels, in bytes */
} gr_labels;

/* Whether that many are counted in 32 bits. */
bool gr_labels_fit(const gr_labels *self);

/* Leaves int64: where each group begins, where the last one ends, and every row. Those of one label keep
   their order; those whose label is no group come last. */
gr_status gr_labels_run(gr_device *device, const gr_labels *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
