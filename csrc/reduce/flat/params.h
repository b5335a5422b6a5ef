/* What the flat kernels are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_REDUCE_FLAT_PARAMS_H
#define GR_REDUCE_FLAT_PARAMS_H

#include <stdint.h>

enum {
    GR_FLAT_MOST_THREADS = 1024, /* of a block of the kernel `flat` */
    GR_FLAT_CHUNKS = 4,          /* 16-byte loads that each of its threads has in flight */
    GR_RING_THREADS = 256,       /* of a block of the kernel `ring` */
    GR_RING_STAGES = 6,          /* pieces of a block that are on their way at once */
    GR_RING_STAGE_BYTES = 32768, /* of a piece */
    GR_FLAT_MOST_BLOCKS = 256,   /* a slot each; fewest rounds if the first block has a thread for each */
    GR_FLAT_SLOT_BYTES = 64,     /* a State of up to 32 bytes, 4 bytes in each word of 8 */
    GR_FLAT_INITIAL_BYTES = 16,  /* room for an element of any dtype */
};

enum {
    GR_FLAT_FINAL = 1,       /* write the result; otherwise the State, for a later launch */
    GR_FLAT_HAS_INITIAL = 2, /* `initial` takes part, once */
    GR_FLAT_HAS_CARRY = 4,   /* `carry` points to a State */
    GR_FLAT_EARLY = 8,       /* the next kernel may come in while this one still loads */
    GR_FLAT_FROM_ZERO = 16,  /* an initial value of zero takes part: it need not be read */
    GR_FLAT_FEW = 32,        /* no more elements than threads of the one block */
};

/* What every launch reads comes first, in one line of the constant cache. */
typedef struct gr_flat_params {
    uint64_t in;
    uint64_t out;
    uint64_t count;
    uint64_t slots; /* room for a State of each block, zero before and after each launch */
    uint32_t flags;
    uint32_t alone;                         /* 1: nothing of it overlaps with the kernel before */
    uint64_t carry;                         /* a State that comes before the elements */
    uint64_t second;                        /* the other vector of a dot product */
    uint64_t first;                         /* position of the first element, for those who number them */
    uint64_t divisor;                       /* what a mean divides by */
    uint8_t initial[GR_FLAT_INITIAL_BYTES]; /* an element of the result's dtype */
} gr_flat_params;

#endif
