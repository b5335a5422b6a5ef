/* The happens-before relation between the blocks of one launch: vector clocks, joined where a block acquires
   what another one has released through global memory.

   A release is a fence of the device's scope (__threadfence) and an atomic or strong store behind it, or an
   instruction with .release; an acquire is an atomic or a strong load of that address. Blocks of a cluster
   share a clock: accesses of one cluster never race. A fence of any thread counts for its whole block, so
   that an order may be assumed that only a barrier of the block would give, but no order is missed. */
#ifndef PTXSIM_BLOCK_ORDER_H
#define PTXSIM_BLOCK_ORDER_H

#include "interpreter/state.h"

typedef struct ptx_block_order ptx_block_order;

/* NULL if memory ran out. `clusters` is their number in the grid. */
ptx_block_order *ptx_block_order_create(uint64_t clusters);
void ptx_block_order_free(ptx_block_order *order);

/* The clock of a cluster's next access; above 0. */
uint32_t ptx_block_order_clock(const ptx_block_order *order, uint64_t cluster);
/* Whether the access of `from` at `clock` happens before the next access of `to`. Always true once memory has
   run out: rather miss a race than report a false one. */
bool ptx_block_order_precedes(const ptx_block_order *order, uint64_t from, uint32_t clock, uint64_t to);

void ptx_block_order_fence(ptx_block_order *order, uint64_t cluster);
void ptx_block_order_release(ptx_block_order *order, uint64_t cluster, uint64_t address);
void ptx_block_order_acquire(ptx_block_order *order, uint64_t cluster, uint64_t address);
/* A block of the cluster has ended; after all of its `blocks` the cluster acquires nothing any more. */
void ptx_block_order_end(ptx_block_order *order, uint64_t cluster, unsigned blocks);

#endif
