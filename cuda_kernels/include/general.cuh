// The kernel behind variant="auto" for one result from contiguous elements, and what it shares with those of
// general_axis.cuh.
//   general_flat   16 bytes a load, several loads in flight
#pragma once

#include "block_state.cuh"
#include "chunk.cuh"
#include "general_params.h"

// The result that a State of all its elements stands for.
template <class F> __device__ typename F::Out finished(const gr_general_params &p, typename F::State s) {
    if (p.flags & GR_HAS_INITIAL)
        s = F::combine(F::start(*reinterpret_cast<const typename F::Out *>(p.initial)), s);
    return F::finish(s, p.divisor);
}

// Writes State or result number `index`.
template <class F> __device__ void put(const gr_general_params &p, uint64_t index, typename F::State s) {
    if (p.flags & GR_FINAL)
        reinterpret_cast<typename F::Out *>(p.out)[index] = finished<F>(p, s);
    else
        reinterpret_cast<typename F::State *>(p.out)[index] = s;
}

template <class F, class In> __device__ void general_flat(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned length = Chunk<In>::length, in_flight = 4;
    const uint64_t thread = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    const In *in = reinterpret_cast<const In *>(p.in);

    // Elements before the first 16-byte boundary and behind the last one are taken one by one.
    const uint64_t skew = (16 - p.in % 16) % 16 / sizeof(In);
    const uint64_t head = skew < p.count ? skew : p.count;
    const uint64_t chunks = (p.count - head) / length, tail = head + chunks * length;
    const Chunk<In> *chunk = reinterpret_cast<const Chunk<In> *>(in + head);

    State s[in_flight];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k)
        s[k] = F::identity();
    uint64_t i = thread;
    for (; i + (in_flight - 1) * threads < chunks; i += in_flight * threads) {
        Chunk<In> loaded[in_flight];
#pragma unroll
        for (unsigned k = 0; k < in_flight; ++k)
            loaded[k] = chunk[i + k * threads];
#pragma unroll
        for (unsigned k = 0; k < in_flight; ++k)
#pragma unroll
            for (unsigned e = 0; e < length; ++e)
                s[k] = F::combine(s[k], F::load(loaded[k].at[e], head + (i + k * threads) * length + e));
    }
    for (; i < chunks; i += threads) {
        const Chunk<In> loaded = chunk[i];
#pragma unroll
        for (unsigned e = 0; e < length; ++e)
            s[0] = F::combine(s[0], F::load(loaded.at[e], head + i * length + e));
    }
    if (thread < head)
        s[1] = F::combine(s[1], F::load(in[thread], thread));
    if (tail + thread < p.count)
        s[2] = F::combine(s[2], F::load(in[tail + thread], tail + thread));

    const State whole = block_reduce_state<F>(F::combine(F::combine(s[0], s[1]), F::combine(s[2], s[3])));
    if (threadIdx.x == 0)
        put<F>(p, blockIdx.x, whole);
}
