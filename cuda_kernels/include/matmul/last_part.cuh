// Which block of a tile ends last, and so adds up the parts of k.
#pragma once

#include "grid/tickets.cuh"

namespace gr::matmul {

// Returns whether this block is the last one of the parts of a tile; then the sums of all are visible to it.
inline __device__ bool is_last(unsigned *ticket, unsigned parts) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = grid::draw_ticket(ticket, parts) == parts - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

} // namespace gr::matmul
