/* A request for exact sums, means or extremes of groups. */
#ifndef GR_GROUPS_REQUEST_H
#define GR_GROUPS_REQUEST_H

#include "program/program.h"
#include "reduce/ops.h"

/* Which kernels compute the results; all give the same bits. */
typedef enum gr_groups_path {
    GR_GROUPS_ANY, /* the kernels that are expected to be the fastest */
    GR_GROUPS_PLANES,
    GR_GROUPS_SORTED_ROWS,
    GR_GROUPS_SHORT,
    GR_GROUPS_LONG, /* any but those of one launch: GR_GROUPS_SHORT and the following */
    GR_GROUPS_SHARED,
    GR_GROUPS_LISTS,
    GR_GROUPS_PATHS,
} gr_groups_path;

/* Input 0 is the elements, input 1 the labels, one per row. Results are in C order: lines, groups, columns.
 */
typedef struct gr_groups {
    gr_op op;
    gr_dtype dtype, label_dtype;                     /* label_dtype: an integer dtype */
    uint64_t lines, length, inner;                   /* of the elements: lines of rows of columns */
    int64_t line_stride, along_stride, inner_stride; /* bytes, multiples of the element size */
    int64_t label_stride;                            /* bytes */
    bool aligned;                                    /* the first element is 16-byte aligned */
    uint64_t groups;
    gr_scalar empty_result; /* the result of an empty group */
    gr_groups_path path;
    bool states; /* of means: results are states of exact sums of floats, in the format of csrc/exact */
    /* log2 of groups per partition, or of threads per block with GR_GROUPS_SHORT, which tests of these plans
       set; 0: the planner chooses */
    uint32_t partition_shift;
} gr_groups;

static inline bool gr_groups_path_is_free(const gr_groups *self) {
    return self->path == GR_GROUPS_ANY || self->path == GR_GROUPS_LONG;
}

#endif
