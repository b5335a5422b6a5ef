// Adds the states of all blocks of a result, which are integers, in any order.
#pragma once

#include "exact/block.cuh"

// Adds the block's state to the result's state. Returns true in the last block, which then sees the whole
// sum.
template <unsigned Words> __device__ bool is_last_to_join(int64_t *whole) {
    __shared__ bool last;
    int64_t *state = block_state();
    constexpr unsigned flags = Words - 1;
    for (unsigned i = threadIdx.x; i < Words; i += blockDim.x)
        if (i == flags)
            join_flags(whole + flags, static_cast<uint32_t>(state[flags]));
        else if (state[i] != 0)
            add_word(whole + i, state[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        // The upper half of the word counts blocks.
        last = atomicAdd(reinterpret_cast<unsigned long long *>(whole + flags), 1ull << 32) >> 32 ==
               gridDim.y - 1;
        __threadfence();
    }
    __syncthreads();
    if (last)
        for (unsigned i = threadIdx.x; i < Words; i += blockDim.x)
            state[i] = atomicExch(reinterpret_cast<unsigned long long *>(whole + i), 0ull);
    __syncthreads();
    return last;
}
