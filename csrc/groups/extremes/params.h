/* Parameters of the kernels of extremes of groups: minima, maxima, their rows, any and all; and of counts and
   bitwise operators, which take the same passes. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_GROUPS_EXTREMES_PARAMS_H
#define GR_GROUPS_EXTREMES_PARAMS_H

#include "groups/partition/params.h"

/* The atomic operation on keys. */
enum { GR_EXTREMES_MAX, GR_EXTREMES_OR, GR_EXTREMES_XOR, GR_EXTREMES_ADD };

/* Elements become keys: unsigned integers whose order is that of the elements, or for minima the opposite
   order. The result of a group is that of its largest key, which atomic maxima find in any order of the rows.
   Key 0 gives the result of an empty group. -0 is less than 0, except for positions. Counts add up keys 0 and
   1, and bitwise operators combine the bits of keys. Masks are for the bits of an element. */
typedef struct gr_extremes_params {
    gr_group_params rows; /* of the elements and labels; windows, planes and flags are unused */
    uint64_t keys; /* address of a key per result, zero before and after a call: uint32, of 8-byte elements
                      and of positions uint64 */
    uint64_t sign; /* sign bit of floats and signed integers, else 0 */
    uint64_t negative;    /* bits that differ between a negative element and its key */
    uint64_t magnitude;   /* all bits but the sign of floats */
    uint64_t infinity;    /* a larger magnitude is a NaN; of integers: all bits */
    uint64_t nan_key;     /* the key of a NaN: the largest, or 1, which is less than those of numbers */
    uint64_t largest_key; /* all bits of an element, or 1 of truth values */
    uint64_t flip;        /* bits that differ between the key of a maximum and that of this operator */
    uint64_t nan;         /* the bits of the result NaN; of integers 0, as there is no NaN */
    uint32_t element_bytes, result_bytes;
    uint32_t atomic;     /* a GR_EXTREMES_ constant; of positions MAX */
    uint32_t truth;      /* 1: an element counts as a truth value: whether it is not 0 */
    uint32_t positional; /* 1: a key is that of an element, then the complement of its row, 32 bits each */
} gr_extremes_params;

/* Of the kernel that combines the keys of partitions. */
typedef struct gr_extremes_partition_params {
    gr_partition_params partition;
    gr_extremes_params extremes;
} gr_extremes_partition_params;

#endif
