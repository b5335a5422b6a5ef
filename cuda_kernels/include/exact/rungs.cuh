// Common parts of the rungs of the ladder of exact sums: whole arrays of float32, and blocks along y.
#pragma once

#include "exact/bins.cuh"
#include "grid/tickets.cuh"

namespace gr::exact {

using namespace grid;

// The bytes of dynamic shared memory that rungs.def has for a rung, which are what its kernel uses:
// shared_of_e2.
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, hands, shared)      \
    constexpr unsigned shared_of_##name = shared;
#include "exact/rungs.def"
#undef GR_RUNG

inline __device__ uint64_t first_of_thread() {
    return uint64_t(blockIdx.y) * blockDim.x + threadIdx.x;
}
inline __device__ uint64_t threads_of_grid() {
    return uint64_t(gridDim.y) * blockDim.x;
}

// Combines the values of the threads of a block, as v2 does.
template <class T, class Combine> __device__ T combine_block(T x, const Combine &combine) {
    __shared__ T slots[GR_EXACT_THREADS];
    __syncthreads();
    slots[threadIdx.x] = x;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            slots[threadIdx.x] = combine(slots[threadIdx.x], slots[threadIdx.x + half]);
    }
    return slots[0];
}

// Combines the values of the grid, as v9 does: true in the thread that then has the result in x.
template <class T, class Combine>
__device__ bool combine_blocks(T &x, const Combine &combine, const gr_exact_rung_params &p) {
    __shared__ bool last;
    T *sums = reinterpret_cast<T *>(p.sums);
    x = combine_block(x, combine);
    if (threadIdx.x == 0) {
        sums[blockIdx.y] = x;
        __threadfence();
        last = draw_ticket(reinterpret_cast<unsigned *>(p.state), gridDim.y) == gridDim.y - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return false;
    T zero = {};
    x = zero;
    for (unsigned i = threadIdx.x; i < gridDim.y; i += blockDim.x)
        x = combine(x, sums[i]);
    x = combine_block(x, combine);
    return threadIdx.x == 0;
}

constexpr gr_exact_size rung_size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
static_assert(shared_of_e2 == rung_size.words * 8 && shared_of_e3 == shared_of_e2 &&
              shared_of_e4 == shared_of_e2 + GR_EXACT_THREADS * GR_EXACT_NARROW_BINS * sizeof(double));

inline __device__ void clear_state() {
    if (threadIdx.x < rung_size.words)
        block_state()[threadIdx.x] = 0;
    __syncthreads();
}

// Adds a number that a float32, or a few of them, make without a rounding to the block's state.
inline __device__ void add_number(double x) {
    const gr_exact_decomposed parts = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(x)));
    if (parts.flags > GR_EXACT_NOT_MINUS_ZERO)
        join_block_flags(block_state() + rung_size.words - 1, parts.flags);
    if (parts.value == 0)
        return;
    const int position = static_cast<int>(parts.position) - 1075 + static_cast<int>(rung_size.below);
    // Bits below the last bit of a float32 are 0.
    const int64_t value = position < 0 ? parts.value / (int64_t(1) << -position) : parts.value;
    add_pieces(block_state(), value, position < 0 ? 0 : static_cast<unsigned>(position));
}

// Adds up the states of all blocks; the last block rounds the result. A sum starts at 0, never at -0.
inline __device__ void finish_state(const gr_exact_rung_params &p) {
    __syncthreads();
    if (!is_last_to_join<rung_size.words>(reinterpret_cast<int64_t *>(p.state)) || threadIdx.x != 0)
        return;
    int64_t *state = block_state();
    state[rung_size.words - 1] |= GR_EXACT_NOT_MINUS_ZERO;
    const uint64_t bits = gr_exact_result(state, rung_size, 1, {24, 8});
    *reinterpret_cast<uint32_t *>(p.out) = static_cast<uint32_t>(bits);
}

} // namespace gr::exact
