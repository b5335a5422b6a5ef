/* The products of wgmma that are under way: each warp's registers that they sum into, or take A from. */
#ifndef PTXSIM_PRODUCTS_H
#define PTXSIM_PRODUCTS_H

#include "interpreter/state.h"

/* A register of 32 bits. Groups are counted from 1; 0: none. */
typedef struct ptx_product_unit {
    uint32_t summing, lent; /* the group that sums into it, or reads A from it */
    bool landed;            /* a product's sum that was waited for, */
    bool touched;           /* and has been read or written since */
    const ptx_instr *in;    /* the product */
} ptx_product_unit;

/* Shared memory that a group reads, until it is waited for. */
typedef struct ptx_product_span {
    uint32_t group;
    const ptx_instr *in;
    uint64_t offset, bytes;
} ptx_product_span;

struct ptx_products {
    uint32_t groups;  /* that are closed */
    uint32_t pending; /* registers that a group sums into */
    bool watched;     /* there was a product */
    bool fenced;      /* there was a wgmma.fence */
    ptx_product_unit *units;
    uint8_t *sums; /* what the registers will hold */
    ptx_product_span *spans;
    size_t span_count, span_capacity;
};

void ptx_products_reset(ptx_warp *warp);
void ptx_products_free(ptx_warp *warp);

/* Before an instruction is executed: an error where it touches what a product has not let go of. */
ptx_status ptx_products_check(ptx_warp *warp, const ptx_instr *in);

/* At the warp's end: an error where a product was not waited for. */
ptx_status ptx_products_end(ptx_warp *warp);

#endif
