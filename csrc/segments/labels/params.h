/* What the kernels that put labels in order are told: read by C and CUDA alike. */
#ifndef GR_SEGMENTS_LABELS_PARAMS_H
#define GR_SEGMENTS_LABELS_PARAMS_H

#include <stdint.h>

enum {
    GR_LABEL_THREADS = 256, /* of a block */
    GR_LABEL_EACH = 16,     /* rows that a thread takes of a tile */
    GR_LABEL_BITS = 8,      /* of a digit: there is a thread for each of its values */
};

/* Rows are put in the order of their labels, digit after digit, those of one digit in the order that they
   have. A key is a label, or `groups` where that is no group. */
typedef struct gr_label_params {
    uint64_t labels;  /* of the first pass; or 0, and keys and rows are those that the pass before left */
    int64_t stride;   /* of the labels, in bytes */
    uint64_t keys_in; /* uint32 each, as in what follows */
    uint64_t rows_in;
    uint64_t keys_out;
    uint64_t rows_out; /* of the last pass 0: rows go behind the offsets */
    uint64_t counts;   /* of each digit in each tile, one digit after the other; then where those rows go */
    uint64_t totals;   /* of each digit */
    uint64_t out;      /* int64: where each group begins and the last one ends, then the rows */
    uint64_t rows, groups, tiles;
    uint64_t sign;       /* the bit that labels less than 0 have, or 0 */
    uint32_t item_bytes; /* of a label */
    uint32_t shift;      /* to the digit */
} gr_label_params;

#endif
