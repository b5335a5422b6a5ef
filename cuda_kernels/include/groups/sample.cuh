// The choice of windows by a sample of the elements.
#pragma once

#include "groups/addends.cuh"

namespace gr::groups {

// The first exponent of the windows, and how many of them are in use.
struct WindowChoice {
    unsigned first, windows;
};

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

// Chooses windows for a contiguous array; for all threads of a block. The first warp gets the choice.
template <class In> __device__ WindowChoice choose_windows(const gr_group_params &p, const In *in) {
    if constexpr (Addends<In>::bins == 0) {
        return {0, 1};
    } else {
        constexpr unsigned bins = Addends<In>::bins, width = Addends<In>::exponents / Addends<In>::per_bin;
        __shared__ uint32_t sums[bins];
        for (unsigned i = threadIdx.x; i < bins; i += GR_GROUP_WINDOW_THREADS)
            sums[i] = 0;
        __syncthreads();
        const uint64_t step = p.length / GR_GROUP_SAMPLES > 0 ? p.length / GR_GROUP_SAMPLES : 1;
        if (const uint64_t i = threadIdx.x * step; threadIdx.x < GR_GROUP_SAMPLES && i < p.length)
            if (const unsigned bin = Addends<In>::exponent(in[i]) / Addends<In>::per_bin;
                bin > 0) // not of zeros
                atomicAdd(&sums[bin], 1u);
        __syncthreads();
        if (threadIdx.x >= 32)
            return {0, 1};
        sum_bins<bins>(sums);
        const Coverage one = best_window<bins>(sums, width);
        if (p.windows == 1 || one.samples == sums[bins - 2])
            return {one.first * Addends<In>::per_bin, 1};
        return {best_window<bins>(sums, 2 * width).first * Addends<In>::per_bin, 2};
    }
}

} // namespace gr::groups
