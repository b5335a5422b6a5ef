// Exact sums of few elements, or of neighbouring columns: a thread computes whole results by itself.
#pragma once

#include "exact/sum.cuh"

namespace gr::exact {

// Adds the bins of a thread to its own state, and clears them.
template <class Bins> __device__ void fold_alone(Bins &mine, int64_t *state) {
    mine.normalize();
#pragma unroll 1
    for (unsigned bin = 0; bin < Bins::count; ++bin) {
        Units sum = {0, 0};
        const auto value = Bins::look(block_bins<Bins>(), bin, threadIdx.x);
        if (!is_used(value))
            continue;
        Bins::count_units(value, bin, sum);
        Bins::empty(block_bins<Bins>(), bin, threadIdx.x);
        state[Bins::size.words - 1] |= flags_of(value);
#pragma unroll 1
        for (unsigned high = 0; high <= (Bins::high_at > 0); ++high) {
            const unsigned position = Bins::position(bin) + Bins::high_at * high;
            const gr_exact_addends pieces = gr_exact_split(high ? sum.high : sum.low, position);
            for (unsigned i = 0; i < 3; ++i)
                state[position / 32 + i] += pieces.at[i];
        }
    }
}

// Folds the bins of a thread if they could be full. Returns the number of additions to them since.
template <class Bins>
__device__ unsigned fold_in_time(Bins &mine, int64_t *state, unsigned added, unsigned most) {
    if (added == most) {
        fold_alone(mine, state);
        return 0;
    }
    if constexpr (Bins::soon > 0)
        if (added % Bins::soon == 0)
            mine.normalize();
    return added;
}

// Rounds the state of a thread to its result.
template <class In, class Bins>
__device__ void finish_alone(const gr_exact_params &p, uint64_t result, int64_t *state) {
    const uint64_t counted = static_cast<uint64_t>(state[Bins::size.words - 2]);
    add_initial<In, Bins::size.words>(p, result, state, Bins::size.below);
    const uint64_t divisor = !(p.flags & GR_EXACT_MEAN) ? 1 : p.flags & GR_EXACT_MASKED ? counted : p.count;
    put<In>(p, result, gr_exact_result(state, Bins::size, divisor, Format<In>::format));
}

// Makes each result of a thread: add(result, base, state, bins) adds its elements, which begin at `base`, and
// returns how many count; finish(result, state, taken) stores it.
template <class Bins, class Add, class Finish>
__device__ void each_alone(const gr_exact_params &p, const Add &add, const Finish &finish) {
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
        const uint64_t taken = add(result, offsets(p.keep, result / p.components), state, bins);
        fold_alone(bins, state);
        finish(result, state, taken);
    }
}

template <class In, class Bins> __device__ void sum_alone(const gr_exact_params &p) {
    const auto add = [&](uint64_t result, const Offsets &base, int64_t *state, Bins &bins) {
        uint64_t taken = 0;
        unsigned added = 0;
        for (uint64_t k = 0; k < p.count; ++k, ++added) {
            added = fold_in_time(bins, state, added, p.fold);
            taken += add_element<In, false>(p, base, static_cast<unsigned>(result % p.components), k, bins);
        }
        return taken;
    };
    each_alone<Bins>(p, add, [&](uint64_t result, int64_t *state, uint64_t taken) {
        state[Bins::size.words - 2] = static_cast<int64_t>(taken);
        finish_alone<In, Bins>(p, result, state);
    });
}

// The states themselves, of sums or of products.
template <class In, bool Pair, class Bins> __device__ void states_alone(const gr_exact_params &p) {
    const auto add = [&](uint64_t result, const Offsets &base, int64_t *state, Bins &bins) {
        const unsigned component = static_cast<unsigned>(result % p.components);
        unsigned added = 0;
        for (uint64_t k = 0; k < p.count; ++k, ++added) {
            added = fold_in_time(bins, state, added, p.fold);
            add_element<In, Pair>(p, base, component, k, bins);
        }
        return 0;
    };
    each_alone<Bins>(p, add, [&](uint64_t result, const int64_t *state, uint64_t) {
        int64_t *out = reinterpret_cast<int64_t *>(p.out) + result * Bins::size.words;
#pragma unroll 1
        for (unsigned i = 0; i < Bins::size.words; ++i)
            out[i] = state[i];
    });
}

} // namespace gr::exact
