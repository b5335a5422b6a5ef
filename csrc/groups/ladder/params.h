/* Parameters of the rungs of the ladder of group sums. Read by C and CUDA, so all types are plain and of
   fixed size. */
#ifndef GR_GROUPS_LADDER_PARAMS_H
#define GR_GROUPS_LADDER_PARAMS_H

#include <stdint.h>

enum {
    GR_GROUP_RUNG_THREADS = 1024,    /* per block */
    GR_GROUP_DIGIT_BITS = 8,         /* bits of a digit, by which a pass of g1 sorts */
    GR_GROUP_DIGITS = 256,           /* values of a digit */
    GR_GROUP_SORT_WARPS = 8,         /* per block of the kernels that sort */
    GR_GROUP_SORT_THREADS = 256,     /* per block of these kernels */
    GR_GROUP_INTEGER_BITS = 62,      /* bits of the absolute value of a sum in g3 and g4 */
    GR_GROUP_WINDOW_BYTES_SHIFT = 3, /* log2 of bytes of shared memory per group in g3 and g4 */
};

/* Sums of contiguous elements by label; labels below 0 and from `groups` on are ignored. */
typedef struct gr_group_rung_params {
    uint64_t values; /* address of float32 [count] */
    uint64_t labels; /* address of int32 [count] */
    uint64_t out;    /* address of float32 [groups], zero before; g1 and g3 on write each element */
    uint64_t count;
    uint64_t groups;
    uint64_t to_values; /* addresses to which a kernel of g1 or g4 writes the elements and labels in order */
    uint64_t to_labels;
    uint64_t numbers; /* address of uint32: of g1 [warp][digit], how many elements, then where they start; of
                         g4 [2][part], where a part starts, then where its next element goes */
    uint64_t top;     /* address of a uint32, zero before: the bits of the largest finite absolute value */
    uint64_t totals;  /* address of int64 [groups], zero before: the sums as integers */
    uint32_t warps;   /* of g1: number of warps among which the elements are divided */
    uint32_t shift;   /* of g1: the first bit of the digit; of g4: log2 of the groups of a part */
    uint32_t parts;   /* of g4 */
    uint32_t blocks_per_part;
    uint32_t bits; /* of the absolute value of an element as an integer */
} gr_group_rung_params;

#endif
