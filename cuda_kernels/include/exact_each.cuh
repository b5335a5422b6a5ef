// Exact sums of few elements, or of columns side by side: a thread makes whole results by itself.
#pragma once

#include "exact_sum.cuh"

// Moves what is in the bins of a thread into a state of its own.
template <class Bins> __device__ void fold_alone(Bins &mine, int64_t *state) {
    mine.settle();
#pragma unroll 1
    for (unsigned bin = 0; bin < Bins::count; ++bin) {
        Units sum = {0, 0};
        const uint32_t flags = Bins::take(block_bins<Bins>(), bin, threadIdx.x, sum);
        if (flags == 0)
            continue;
        state[Bins::size.words - 1] |= flags;
#pragma unroll 1
        for (unsigned high = 0; high <= Bins::has_high; ++high) {
            const unsigned position = Bins::position(bin) + 48 * high;
            const gr_exact_pieces pieces = gr_exact_split(high ? sum.high : sum.low, position);
            for (unsigned i = 0; i < 3; ++i)
                state[position / 32 + i] += pieces.at[i];
        }
    }
}

template <class In, class Bins> __device__ void sum_alone(const gr_exact_params &p) {
    int64_t state[Bins::size.words];
    Bins bins(block_bins<Bins>());
    bins.open();
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t result = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; result < p.results;
         result += step) {
#pragma unroll 1
        for (unsigned i = 0; i < Bins::size.words; ++i)
            state[i] = 0;
        const Offsets base = offsets(p.keep, result / p.components);
        uint64_t taken = 0;
        unsigned added = 0;
        for (uint64_t k = 0; k < p.count; ++k, ++added) {
            if (added == p.fold) {
                fold_alone(bins, state);
                added = 0;
            }
            taken += add_element<In, false>(p, base, static_cast<unsigned>(result % p.components), k, bins);
        }
        fold_alone(bins, state);
        state[Bins::size.words - 2] = static_cast<int64_t>(taken);
        finish<In, Bins>(p, result, state);
    }
}

#define GR_EXACT_EACH(name, In, threads, ...)                                                                \
    extern "C" __global__ void __launch_bounds__(threads) name(const gr_exact_params p) {                    \
        sum_alone<In, __VA_ARGS__>(p);                                                                       \
    }
