// Float32 as integers of one unit, which g3 and g4 add up: integers commute, floats do not.
#pragma once

#include "groups/rungs.cuh"

namespace gr::groups {

// Raises *top to the bits of the largest finite absolute value, which are ordered as the values are.
inline __device__ void find_top(const gr_group_rung_params &p) {
    __shared__ uint32_t top_of_block;
    if (threadIdx.x == 0)
        top_of_block = 0;
    __syncthreads();
    uint32_t top = 0;
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const uint32_t bits = __float_as_uint(fabsf(Rung(p).values[i]));
        if (bits < 0x7f800000) // finite
            top = max(top, bits);
    }
    atomicMax(&top_of_block, top);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicMax(reinterpret_cast<uint32_t *>(p.top), top_of_block);
}

inline __device__ double power_of_two(int exponent) {
    return __hiloint2double((1023 + exponent) << 20, 0);
}

// The exponent of the unit: the largest element has at most p.bits bits in this unit, and all elements
// together fit 64 bits. An element is a multiple of the unit unless it is 2^(p.bits - 24) times as small as
// the largest.
inline __device__ int exponent_of_unit(const gr_group_rung_params &p) {
    const int top = int(*reinterpret_cast<const uint32_t *>(p.top) >> 23);
    return top - 126 - int(p.bits);
}

// The integer sums of a block in shared memory, as two words of 32 bits: the hardware has no addition of 64
// bits there.
struct Windows {
    uint32_t *low, *high;
    unsigned groups;
    double units_per_one;

    __device__ Windows(const gr_group_rung_params &p, unsigned groups)
        : low(shared_array<uint32_t>()), high(low + groups), groups(groups),
          units_per_one(power_of_two(-exponent_of_unit(p))) {
        for (unsigned g = threadIdx.x; g < 2 * groups; g += blockDim.x)
            low[g] = 0;
        __syncthreads();
    }

    // Adds a finite element. What the low words lose by wrapping around is 2^32, carried to the high word.
    __device__ void add(unsigned group, float x) {
        const int64_t integer = __double2ll_rn(x * units_per_one);
        const uint32_t part = uint32_t(integer), before = atomicAdd(&low[group], part);
        const uint32_t rest = uint32_t(integer >> 32) + (before + part < part);
        if (rest != 0)
            atomicAdd(&high[group], rest);
    }

    // Adds the sums to those of all blocks, from group `first` on.
    __device__ void publish(const gr_group_rung_params &p, uint64_t first) {
        using Word = unsigned long long;
        __syncthreads();
        for (unsigned g = threadIdx.x; g < groups; g += blockDim.x) {
            const Word sum = Word(high[g]) << 32 | low[g];
            if (sum != 0)
                atomicAdd(reinterpret_cast<Word *>(p.totals) + first + g, sum);
        }
    }
};

// Adds an element to its group. Infinities and NaNs commute as they are: a group that has one is what the
// atomics on floats make of them.
inline __device__ void add_element(const gr_group_rung_params &p, Windows &windows, int32_t label,
                                   unsigned group, float x) {
    if (isfinite(x))
        windows.add(group, x);
    else
        atomicAdd(&Rung(p).out[label], x);
}

// Rounds the sums of all groups, once. A sum below the smallest normal number is a multiple of the smallest
// subnormal one, so it has fewer than 24 bits: only the conversion of the integer rounds.
inline __device__ void round_sums(const gr_group_rung_params &p) {
    float *out = Rung(p).out;
    const double unit = power_of_two(exponent_of_unit(p));
    for (uint64_t g = first_of_thread(); g < p.groups; g += threads_of_grid())
        if (isfinite(out[g]))
            out[g] = float(__ll2float_rn(reinterpret_cast<const int64_t *>(p.totals)[g]) * unit);
}

} // namespace gr::groups
