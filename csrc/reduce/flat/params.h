/* Parameters of the flat kernels, which reduce one contiguous array to one value in one launch. Read by C
   and CUDA, so all types are plain and of fixed size. */
#ifndef GR_REDUCE_FLAT_PARAMS_H
#define GR_REDUCE_FLAT_PARAMS_H

#include <stdint.h>

enum {
    GR_FLAT_MAX_THREADS = 1024,  /* per block of the kernel `flat` */
    GR_FLAT_LOADS_IN_FLIGHT = 4, /* 16-byte loads that each thread of `flat` has in flight */
    GR_RING_THREADS = 256,       /* per block of the kernel `ring` (TMA bulk copies, cp.async.bulk) */
    GR_RING_STAGES = 6,          /* pipeline stages: bulk copies of a block in flight */
    GR_RING_STAGE_BYTES = 32768, /* bytes per stage */
    GR_FLAT_MAX_BLOCKS = 256, /* one slot each; the last-block reduction is shortest if the first block has a
                                 thread for each slot */
    GR_FLAT_SLOT_BYTES = 64,  /* a State of up to 32 bytes, 4 bytes of data in each word of 8 */
    GR_FLAT_LARGE_SLOT_BYTES = 96, /* a State of up to 48 bytes (grid/large_states.cuh) */
    GR_FLAT_INITIAL_BYTES = 16,    /* capacity for an element of any dtype */
};

enum {
    GR_FLAT_FINAL = 1,         /* Write the result; otherwise write the State for a later launch. */
    GR_FLAT_HAS_INITIAL = 2,   /* Combine `initial` once with the result. */
    GR_FLAT_HAS_CARRY = 4,     /* `carry` points to a State. */
    GR_FLAT_TRIGGER_EARLY = 8, /* Trigger the dependent launch while this kernel still loads. */
    GR_FLAT_FROM_ZERO = 16,    /* The initial value is zero: it is not read from `initial`. */
    GR_FLAT_FEW = 32,          /* One block has a thread for each element. */
};

/* Fields that every launch reads come first, in one line of the constant cache. */
typedef struct gr_flat_params {
    uint64_t in;
    uint64_t out;
    uint64_t count;
    uint64_t slots; /* address of a State slot for each block, zero before and after each launch */
    uint32_t flags;
    uint32_t serialized; /* 1: the launch does not overlap with the previous kernel (no programmatic dependent
                            launch) */
    uint64_t carry;      /* address of the State of the elements before these */
    uint64_t second;     /* address of the second vector of a dot product */
    uint64_t first;      /* position of the first element, for operators whose result is a position */
    uint64_t divisor;    /* divisor of a mean */
    uint8_t initial[GR_FLAT_INITIAL_BYTES]; /* an element of the result's dtype */
} gr_flat_params;

#endif
