// The choice of windows by a sample of the elements.
#pragma once

#include "groups/addends.cuh"

namespace gr::groups {

// The first of `width` neighbouring bins that have the most samples, the middle one of several, and their
// number of samples; for all lanes of a warp. sums[i] is the number of samples of bins up to i.
struct Coverage {
    unsigned first, samples;
};
template <unsigned Bins> __device__ Coverage best_window(const uint32_t *sums, unsigned width) {
    unsigned best = 0, low = Bins, high = 0;
    for (unsigned first = 1 + threadIdx.x % 32; first + width < Bins; first += 32) {
        const unsigned covered = sums[first + width - 1] - sums[first - 1];
        low = covered > best ? first : low < first ? low : first;
        high = covered >= best ? first : high;
        best = covered > best ? covered : best;
    }
#pragma unroll
    for (unsigned apart = 16; apart > 0; apart /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, best, apart);
        const unsigned other_low = __shfl_xor_sync(0xffffffffu, low, apart);
        const unsigned other_high = __shfl_xor_sync(0xffffffffu, high, apart);
        low = other > best || (other == best && other_low < low) ? other_low : low;
        high = other > best || (other == best && other_high > high) ? other_high : high;
        best = other > best ? other : best;
    }
    return {(low + high) / 2, best};
}

// Turns the counts of bins into prefix sums; for a warp.
template <unsigned Bins> __device__ void sum_bins(uint32_t *bins) {
    constexpr unsigned each = Bins / 32;
    const unsigned lane = threadIdx.x % 32;
    uint32_t sum = 0;
    for (unsigned i = 0; i < each; ++i)
        sum += bins[lane * each + i];
    uint32_t before = sum;
#pragma unroll
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, before, apart);
        before += lane >= apart ? other : 0;
    }
    before -= sum;
    for (unsigned i = 0; i < each; ++i)
        bins[lane * each + i] = before += bins[lane * each + i];
    __syncwarp();
}

// Turns samples into a choice; for a warp. `sums` are those of sum_bins.
template <class In>
__device__ WindowChoice choose_by_samples(const gr_group_params &p, const uint32_t *sums) {
    constexpr unsigned bins = Addends<In>::bins, per_bin = Addends<In>::per_bin;
    constexpr unsigned width = Addends<In>::exponents / per_bin;
    const Coverage one = best_window<bins>(sums, width);
    if (p.windows == 1 || one.samples == sums[bins - 2])
        return {one.first * per_bin, 1};
    return {best_window<bins>(sums, 2 * width).first * per_bin, 2};
}

// The lowest and the highest exponent of samples that are not 0.
struct SampleRange {
    unsigned low, high;
};

// The range of a block's samples, of which each thread has one range; for all threads.
template <unsigned Threads> __device__ SampleRange block_range(SampleRange mine) {
    __shared__ SampleRange of_warps[Threads / 32];
#pragma unroll
    for (unsigned apart = 16; apart > 0; apart /= 2) {
        mine.low = min(mine.low, __shfl_xor_sync(0xffffffffu, mine.low, apart));
        mine.high = max(mine.high, __shfl_xor_sync(0xffffffffu, mine.high, apart));
    }
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = of_warps[threadIdx.x % (Threads / 32)];
#pragma unroll
    for (unsigned apart = 16; apart > 0; apart /= 2) {
        mine.low = min(mine.low, __shfl_xor_sync(0xffffffffu, mine.low, apart));
        mine.high = max(mine.high, __shfl_xor_sync(0xffffffffu, mine.high, apart));
    }
    return mine;
}

// Chooses windows for a contiguous array; for all threads of a block. The first warp gets the choice.
template <class In, unsigned Threads = GR_GROUP_WINDOW_THREADS>
__device__ WindowChoice choose_windows(const gr_group_params &p, const In *in) {
    if constexpr (Addends<In>::bins == 0) {
        return {0, 1};
    } else {
        constexpr unsigned bins = Addends<In>::bins, each = GR_GROUP_SAMPLES / Threads;
        constexpr unsigned per_bin = Addends<In>::per_bin, all = Addends<In>::exponents;
        constexpr unsigned most = bins * per_bin - 1; // the exponent of infinities, or more
        const uint64_t step = p.length / GR_GROUP_SAMPLES > 0 ? p.length / GR_GROUP_SAMPLES : 1;
        unsigned exponent[each];
        SampleRange range = {most, 0};
#pragma unroll
        for (unsigned k = 0; k < each; ++k) {
            const uint64_t i = (threadIdx.x + k * Threads) * step;
            exponent[k] = i < p.length ? Addends<In>::exponent(in[i]) : 0;
            range.low = exponent[k] > 0 && exponent[k] < range.low ? exponent[k] : range.low;
            range.high = exponent[k] > range.high ? exponent[k] : range.high;
        }
        range = block_range<Threads>(range);
        // All samples are in one window, whose exponents are finite.
        if (range.high >= range.low && range.high - range.low < all && range.high > all &&
            range.low + all < Addends<In>::infinity)
            return {(range.low + range.high - all + 1) / 2, 1};
        __shared__ uint32_t sums[bins];
        for (unsigned i = threadIdx.x; i < bins; i += Threads)
            sums[i] = 0;
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < each; ++k)
            if (const unsigned bin = exponent[k] / per_bin; bin > 0) // not of zeros
                atomicAdd(&sums[bin], 1u);
        __syncthreads();
        if (threadIdx.x >= 32)
            return {};
        sum_bins<bins>(sums);
        return choose_by_samples<In>(p, sums);
    }
}

} // namespace gr::groups
