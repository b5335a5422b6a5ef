// States of exact sums of few elements, or of neighbouring columns: a thread computes whole states by itself.
#pragma once

#include "exact/each.cuh"

template <class In, bool Pair, class Bins> __device__ void states_alone(const gr_exact_params &p) {
    int64_t state[Bins::size.words];
    Bins bins(block_bins<Bins>());
    pdl_launch_dependents();
    bins.open();
    pdl_wait();
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t result = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; result < p.results;
         result += step) {
#pragma unroll 1
        for (unsigned i = 0; i < Bins::size.words; ++i)
            state[i] = 0;
        const Offsets base = offsets(p.keep, result / p.components);
        const unsigned component = static_cast<unsigned>(result % p.components);
        unsigned added = 0;
        for (uint64_t k = 0; k < p.count; ++k, ++added) {
            added = fold_in_time(bins, state, added, p.fold);
            add_element<In, Pair>(p, base, component, k, bins);
        }
        fold_alone(bins, state);
        int64_t *out = reinterpret_cast<int64_t *>(p.out) + result * Bins::size.words;
#pragma unroll 1
        for (unsigned i = 0; i < Bins::size.words; ++i)
            out[i] = state[i];
    }
}

#define GR_EXACT_STATES(name, In, pair, threads, ...)                                                        \
    extern "C" __global__ void __launch_bounds__(threads) name(const gr_exact_params p) {                    \
        states_alone<In, pair, __VA_ARGS__>(p);                                                              \
    }
