// Blocks that share the parts of k of a tile: which parts a block has, and which block ends last and so adds
// them up.
#pragma once

#include "grid/tickets.cuh"
#include "matmul/params.h"

namespace gr::matmul {

// The tile of a block and its parts of k: `rounds` of them, or fewer for the last block of a tile.
struct BlockParts {
    unsigned parts, blocks, tile, tiles; // parts and blocks per tile; tiles that are computed at once
    unsigned first, count;               // of this block

    __device__ explicit BlockParts(const gr_matmul_params &p) : parts(unsigned(p.slices)) {
        const unsigned rounds = unsigned(p.rounds);
        blocks = (parts + rounds - 1) / rounds;
        tile = blockIdx.x / blocks;
        tiles = gridDim.x / blocks;
        first = blockIdx.x % blocks * rounds;
        count = min(rounds, parts - first);
    }
};

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
