// Where a thread adds before anything is carried: bins of its own in shared memory, by the upper bits of the
// exponent. What is in a bin is exact until it has been added to `fold` times (see params.h).
#pragma once

#include <cstdint>

#include "element_types.cuh"
#include "exact/params.h"

inline __device__ double as_double(double x) {
    return x;
}
inline __device__ double as_double(float x) {
    return x;
}
inline __device__ double as_double(gr_f16 x) {
    return __half2float(x);
}
inline __device__ double as_double(gr_bf16 x) {
    return __bfloat162float(x);
}

inline __device__ double power_of_two(int exponent) { // a normal one
    return __longlong_as_double(static_cast<long long>(1023 + exponent) << 52);
}

// The flags of a bin that was added to; 0 of one that has had nothing but -0. Those of infinity and NaN make
// the result, so that it does not matter which integers become of them. Of a pair the first part tells: what
// infinity leaves in the other is NaN.
inline __device__ uint32_t flags_of(double x) {
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x));
    if ((bits >> 52 & 2047) != 2047)
        return bits == 1ull << 63 ? 0 : GR_EXACT_OTHER;
    return GR_EXACT_OTHER | (bits << 12 != 0 ? GR_EXACT_NAN
                             : bits >> 63    ? GR_EXACT_MINUS_INFINITY
                                             : GR_EXACT_INFINITY);
}

// A whole number of units of a bin, as integers: high * 2^48 + low.
struct Units {
    int64_t low, high;
};

// Of float32 and bfloat16: 16 doubles, by the upper 4 bits of the exponent. A bin's values are less than
// 2^39 units, so that 53 bits hold 8,192 of them and more.
template <class In> struct NarrowBins {
    static constexpr gr_exact_size size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
    static constexpr unsigned count = GR_EXACT_NARROW_BINS, each = 1;
    static constexpr bool has_high = false;
    double *column;

    __device__ NarrowBins(unsigned char *bins) : column(reinterpret_cast<double *>(bins) + threadIdx.x) {
    }
    __device__ void open() {
#pragma unroll
        for (unsigned bin = 0; bin < count; ++bin)
            column[bin * GR_EXACT_THREADS] = -0.0;
    }
    __device__ void add(In element) {
        const float x = element;
        const uint32_t bin = __float_as_uint(x) >> 27 & (count - 1);
        column[bin * GR_EXACT_THREADS] += x;
    }
    __device__ void settle() {
    }
    // Empties a bin of another thread. Its unit is the last bit of the least exponent.
    __device__ static uint32_t take(unsigned char *bins, unsigned bin, unsigned thread, Units &sum) {
        double &place = reinterpret_cast<double *>(bins)[bin * GR_EXACT_THREADS + thread];
        const double x = place;
        const uint32_t flags = flags_of(x);
        if (flags == 0)
            return 0;
        place = -0.0;
        sum.low += __double2ll_rn(x * power_of_two(150 - 16 * static_cast<int>(bin)));
        return flags;
    }
    __device__ static unsigned position(unsigned bin) {
        return size.below - 150 + 16 * bin;
    }
};

// Of float16: one double, in a register, holds as many of its values as the bins above.
template <> struct NarrowBins<gr_f16> {
    static constexpr gr_exact_size size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
    static constexpr unsigned count = 1, each = 1;
    static constexpr bool has_high = false;
    double *column, sum;

    __device__ NarrowBins(unsigned char *bins) : column(reinterpret_cast<double *>(bins) + threadIdx.x) {
    }
    __device__ void open() {
        sum = -0.0;
    }
    __device__ void add(gr_f16 element) {
        sum += __half2float(element);
    }
    __device__ void settle() {
        *column = sum;
        sum = -0.0;
    }
    __device__ static uint32_t take(unsigned char *bins, unsigned, unsigned thread, Units &sum) {
        const double x = reinterpret_cast<double *>(bins)[thread];
        const uint32_t flags = flags_of(x);
        if (flags != 0)
            sum.low += __double2ll_rn(x * power_of_two(24));
        return flags;
    }
    __device__ static unsigned position(unsigned) {
        return size.below - 24;
    }
};

// Of float64: 64 pairs of doubles, by the upper 6 bits of the exponent. A bin's values are less than 2^85
// units. The first of a pair is their rounded sum, the second the sum of what that left out: 2,048 errors of
// up to 2^42 units. The last bin has its values by 2^-64, as their sum may be more than a double holds.
template <unsigned Words = GR_EXACT_WIDE_WORDS, unsigned Below = GR_EXACT_WIDE_BELOW> struct WideBins {
    static constexpr gr_exact_size size = {Words, Below};
    static constexpr unsigned count = GR_EXACT_WIDE_BINS, each = 1;
    static constexpr bool has_high = true;
    double2 *column;

    __device__ WideBins(unsigned char *bins) : column(reinterpret_cast<double2 *>(bins) + threadIdx.x) {
    }
    __device__ void open() {
        for (unsigned bin = 0; bin < count; ++bin)
            column[bin * blockDim.x] = make_double2(-0.0, 0.0);
    }
    __device__ void add(double x) {
        const uint32_t bin = static_cast<uint32_t>(__double2hiint(x)) >> 25 & (count - 1);
        x *= bin == count - 1 ? power_of_two(-64) : 1.0;
        double2 &place = column[bin * blockDim.x];
        const double2 before = place;
        const double sum = before.x + x, part = sum - before.x;
        place = make_double2(sum, before.y + ((before.x - (sum - part)) + (x - part)));
    }
    __device__ void settle() {
    }
    __device__ static uint32_t take(unsigned char *bins, unsigned bin, unsigned thread, Units &sum) {
        double2 &place = reinterpret_cast<double2 *>(bins)[bin * blockDim.x + thread];
        const double2 pair = place;
        const uint32_t flags = flags_of(pair.x);
        if (flags == 0)
            return 0;
        place = make_double2(-0.0, 0.0);
        const int exponent = 1075 - 32 * static_cast<int>(bin) + (bin == count - 1 ? 64 : 0);
        const double first = power_of_two(exponent / 2), second = power_of_two(exponent - exponent / 2);
        const double x = pair.x * first * second;
        const double upper = rint(x * power_of_two(-48));
        sum.high += __double2ll_rn(upper);
        sum.low += __double2ll_rn(x - upper * power_of_two(48)) + __double2ll_rn(pair.y * first * second);
        return flags;
    }
    __device__ static unsigned position(unsigned bin) {
        return size.below - 1075 + 32 * bin;
    }
};
