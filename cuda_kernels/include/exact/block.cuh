// The state of an exact sum that a block keeps in shared memory, the functions that add to it, and the sum of
// the states of all blocks of a result.
#pragma once

#include "common/shared_array.cuh"
#include "common/warp_max.cuh"
#include "exact/params.h"

namespace gr::exact {

using namespace common;

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
// The same in shared memory, where an atomic addition of 64 bits is a loop of compare-and-swap.
inline __device__ void add_digit(int64_t *word, int64_t value) {
    uint32_t *half = reinterpret_cast<uint32_t *>(word);
    const uint32_t low = static_cast<uint32_t>(value);
    uint32_t high = static_cast<uint32_t>(value >> 32);
    if (low != 0)
        high += atomicAdd(half, low) + low < low; // the carry
    if (high != 0)
        atomicAdd(half + 1, high);
}
inline __device__ void join_block_flags(int64_t *word, uint32_t flags) {
    atomicOr(reinterpret_cast<uint32_t *>(word), flags);
}
inline __device__ void add_piece(int64_t *state, int64_t value, unsigned position, unsigned number) {
    const gr_exact_addends pieces = gr_exact_split(value, position);
    const int64_t piece = number == 0 ? pieces.at[0] : number == 1 ? pieces.at[1] : pieces.at[2];
    if (piece != 0)
        add_digit(state + position / 32 + number, piece);
}
inline __device__ void add_pieces(int64_t *state, int64_t value, unsigned position) {
#pragma unroll
    for (unsigned i = 0; i < 3; ++i)
        add_piece(state, value, position, i);
}

// The bits of any lane of a warp (or), and the sum; valid in all lanes.
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
inline __device__ uint32_t warp_add(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, x);
#else
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
#endif
}

// An integer for sums that exceed 64 bits.
using Whole = __int128;

// The sum of numbers of up to Bits bits and a sign, in all lanes of a warp: of pieces of 27 bits, of which a
// word holds 32. An H200 adds words of a warp in one instruction; shuffles would take five turns.
template <unsigned Bits, class T> __device__ T warp_total(T x) {
    constexpr unsigned each = 27;
    T total = 0;
#pragma unroll
    for (unsigned at = 0; at <= Bits; at += each) {
        const uint32_t piece = static_cast<uint32_t>(x >> at);
        if (at + each > Bits)
            total += static_cast<T>(static_cast<int32_t>(warp_add(piece))) << at;
        else
            total += static_cast<T>(warp_add(piece & ((1u << each) - 1))) << at;
    }
    return total;
}

// Adds the block's state to the result's state, as integers, so in any order. Returns true in the last block,
// to which the whole sum is then visible.
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

} // namespace gr::exact
