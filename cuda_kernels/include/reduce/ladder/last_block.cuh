// The grid reduction in one launch that v9 teaches, for the kernels after it: the block that draws the last
// ticket combines the results of all blocks.
#pragma once

#include "grid/tickets.cuh"
#include "reduce/ladder/block_reduce.cuh"

namespace gr::reduce::ladder {

using namespace grid;

// Combines one result of each of `parts` blocks, x in thread 0 of the one that is number `part`, into *out.
template <class Op, class Acc>
__device__ void last_block(Acc x, unsigned part, unsigned parts, Acc *out, Acc *block_sums,
                           unsigned *ticket) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        block_sums[part] = x;
        __threadfence(); // a thread that sees this ticket drawn sees the result, too
        // By an atomicInc that starts again at 0, so the next launch finds the ticket as this one did.
        last = draw_ticket(ticket, parts) == parts - 1;
        __threadfence(); // no result is read before the ticket is drawn
    }
    __syncthreads();
    if (!last)
        return;

    x = Op::identity();
    for (unsigned i = threadIdx.x; i < parts; i += blockDim.x)
        x = Op::combine(x, block_sums[i]);
    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        *out = x;
}

} // namespace gr::reduce::ladder
