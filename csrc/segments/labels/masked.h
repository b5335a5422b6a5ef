/* Labels of elements under a mask: group_reduce and segment_reduce with where= reduce the elements by them.
 */
#ifndef GR_SEGMENTS_LABELS_MASKED_H
#define GR_SEGMENTS_LABELS_MASKED_H

#include "base/dtypes.h"
#include "program/program.h"

/* Input 0 is the labels of rows, or the int64 offsets of segments; input 1 is the mask of the elements, if
   any. */
typedef struct gr_masked_labels {
    bool by_offsets, has_mask;
    gr_dtype label_dtype;                           /* an integer dtype */
    int64_t label_stride;                           /* bytes */
    uint64_t lines, length, inner, groups;          /* of the elements: lines of rows of columns */
    uint64_t repeats;                               /* how often the labels of each row are written */
    int64_t line_stride, row_stride, column_stride; /* of the mask, bytes */
} gr_masked_labels;

/* The dtype of the labels that are written: int32 if the numbers of the results fit. */
gr_dtype gr_masked_labels_dtype(const gr_masked_labels *self);

/* Writes a label per element, in C order and row by row as often as they repeat: the number of its result
   among those of all lines, groups and columns; -1 if the mask is false or the label is no group's. */
gr_status gr_masked_labels_run(gr_device *device, const gr_masked_labels *self, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error);

#endif
