// The state of a block, in its shared memory, and what adds to it.
#pragma once

#include "exact/params.h"
#include "shared_array.cuh"

// The block's shared memory: a state, and behind it the bins of all threads.
inline __device__ int64_t *block_state() {
    return shared_array<int64_t>();
}
template <class Bins> __device__ unsigned char *block_bins() {
    return shared_array<unsigned char>() + Bins::size.words * 8;
}

inline __device__ void add_word(int64_t *word, int64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long *>(word), static_cast<unsigned long long>(value));
}
inline __device__ void join_flags(int64_t *word, uint32_t flags) {
    atomicOr(reinterpret_cast<unsigned long long *>(word), static_cast<unsigned long long>(flags));
}
inline __device__ void add_pieces(int64_t *state, int64_t value, unsigned position) {
    const gr_exact_pieces pieces = gr_exact_split(value, position);
#pragma unroll
    for (unsigned i = 0; i < 3; ++i)
        if (pieces.at[i] != 0)
            add_word(state + position / 32 + i, pieces.at[i]);
}
// The same where no other thread adds.
inline __device__ void store_pieces(int64_t *state, int64_t value, unsigned position) {
    const gr_exact_pieces pieces = gr_exact_split(value, position);
#pragma unroll
    for (unsigned i = 0; i < 3; ++i)
        state[position / 32 + i] += pieces.at[i];
}

// The greatest of a warp, and all the bits that any lane has.
inline __device__ uint32_t warp_max(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, x);
#else
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x = max(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
#endif
}
inline __device__ uint32_t warp_or(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffffu, x);
#else
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x |= __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
#endif
}
inline __device__ int64_t warp_sum(int64_t x) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, static_cast<long long>(x), offset);
    return x;
}
