// What the general kernels, those behind variant="auto" for any layout, have in common.
#pragma once

#include "block_state.cuh"
#include "chunk.cuh"
#include "general_offsets.cuh"
#include "reduce/general/params.h"

// Makes each of N States that of p.repeat times its elements, by doubling.
template <class F, unsigned N> __device__ void repeat(const gr_general_params &p, typename F::State (&s)[N]) {
    if (p.repeat <= 1)
        return;
    typename F::State once[N];
#pragma unroll
    for (unsigned e = 0; e < N; ++e)
        once[e] = s[e];
#pragma unroll 1
    for (uint64_t bit = p.repeat_bit / 2; bit > 0; bit /= 2)
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            s[e] = F::combine(s[e], s[e]);
            if (p.repeat & bit)
                s[e] = F::combine(s[e], once[e]);
        }
}

// The result that a State of all its elements stands for.
template <class F> __device__ typename F::Out finished(const gr_general_params &p, typename F::State s) {
    if (p.flags & GR_HAS_INITIAL)
        s = F::combine(F::start(*reinterpret_cast<const typename F::Out *>(p.initial)), s);
    return F::finish(s, p.divisor);
}

// Whether what a block puts are results.
inline __device__ bool puts_results(const gr_general_params &p) {
    return (p.flags & GR_FINAL) && p.tickets == 0;
}

// Writes the first `count` of N States, whose numbers are `apart`, or the results. One after the other, as
// places take divisions.
template <class F, unsigned N>
__device__ void put_all(const gr_general_params &p, uint64_t first, uint64_t apart, unsigned count,
                        typename F::State (&s)[N], bool results) {
    if (results)
        repeat<F>(p, s);
#pragma unroll 1
    for (unsigned at = 0; at < count; ++at) {
        typename F::State x = s[0]; // registers have no numbers
#pragma unroll
        for (unsigned e = 1; e < N; ++e)
            if (e == at)
                x = s[e];
        const uint64_t index = first + at * apart;
        if (results)
            reinterpret_cast<typename F::Out *>(p.out)[place_of(p.place, index)] = finished<F>(p, x);
        else
            reinterpret_cast<typename F::State *>(p.partial)[uint64_t(blockIdx.y) * p.results + index] = x;
    }
}

// Writes the State of result number `index`, or the result.
template <class F>
__device__ void put(const gr_general_params &p, uint64_t index, typename F::State s, bool results) {
    typename F::State all[1] = {s};
    put_all<F>(p, index, 0, 1, all, results);
}
