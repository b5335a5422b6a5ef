/* Parameters of the kernels that sort rows by their labels, and of the one that applies a mask to labels.
   Read by C and CUDA. */
#ifndef GR_SEGMENTS_LABELS_PARAMS_H
#define GR_SEGMENTS_LABELS_PARAMS_H

#include <stdint.h>

enum {
    GR_LABEL_THREADS = 256,        /* per block */
    GR_LABEL_ROWS_PER_THREAD = 16, /* rows per thread of a tile */
    GR_LABEL_DIGIT_BITS = 8,       /* bits of a digit: a block has one thread per digit value */
};

/* Stable LSD radix sort, one digit per pass. A key is a label, or `groups` if the label is not a group. */
typedef struct gr_label_params {
    uint64_t labels;  /* address of labels, in the first pass; later passes have 0 and read keys and rows of
                         the previous pass */
    int64_t stride;   /* stride of the labels, in bytes */
    uint64_t keys_in; /* address of uint32 keys; the next three are uint32, too */
    uint64_t rows_in;
    uint64_t keys_out;
    uint64_t rows_out; /* 0 in the last pass, which writes rows after the offsets in `out` */
    uint64_t counts; /* address of histograms per digit and tile, digits first, which become the positions of
                        those rows */
    uint64_t totals; /* address of one total per digit */
    uint64_t out;    /* address of int64: the offset of each group, the end of the last one, then the rows */
    uint64_t rows, groups, tiles;
    uint64_t sign;       /* sign bit of a label, or 0 */
    uint32_t item_bytes; /* bytes per label */
    uint32_t shift;      /* position of the digit */
} gr_label_params;

/* Labels of the elements that a mask chooses. An element's label is the number of its result in C order: of
   lines, groups and columns; -1 for elements of no group, and for those that the mask leaves out. */
typedef struct gr_masked_labels_params {
    uint64_t labels;      /* address of the labels of rows, or of int64 offsets of segments */
    int64_t label_stride; /* bytes */
    uint64_t mask;        /* address of bools, or 0: all are true */
    int64_t line_stride, row_stride, column_stride; /* of the mask, bytes */
    uint64_t out;                                   /* address of int32 or int64 */
    uint64_t lines, length, inner, groups;
    uint64_t repeats;     /* of each row */
    uint64_t sign;        /* sign bit of a label, or 0 */
    uint32_t label_bytes; /* 0: these are offsets, one more than groups */
    uint32_t out_bytes;   /* 4 or 8 */
} gr_masked_labels_params;

#endif
