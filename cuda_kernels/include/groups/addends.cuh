// Elements as integers of 32-bit words, which windows add up.
#pragma once

#include <type_traits>

#include "groups/planes.cuh"

namespace gr::groups {

inline __device__ int64_t warp_sum_of(int64_t x) {
#pragma unroll
    for (unsigned apart = 16; apart > 0; apart /= 2)
        x += __shfl_xor_sync(0xffffffffu, static_cast<long long>(x), apart);
    return x;
}

// Two words: 64 bits.
struct TwoWords {
    static constexpr unsigned words = 2;
    using Addend = int64_t;
    using Upper = int32_t; // an integer modulo 2^32
    static __device__ int32_t low(Addend addend) {
        return int32_t(addend);
    }
    static __device__ Upper upper(Addend addend) {
        return int32_t(addend >> 32);
    }
    static __device__ void add_to(Addend &sum, Addend addend) {
        sum = Addend(uint64_t(sum) + uint64_t(addend));
    }
    static __device__ Addend warp_sum(Addend addend) {
        return warp_sum_of(addend);
    }
};

// The windows in use: their number, and the first exponent. Each has Addends<In>::exponents.
struct WindowChoice {
    unsigned first, windows;
};

// Whether an element is in a window, and in which.
struct WindowPlace {
    bool inside;
    unsigned window;
};

// place(x, choice) is the window of x, and addend(x, choice, window) is x in units of the first exponent
// of this window. An element outside the windows goes to the planes.
template <class In> struct Addends : TwoWords {
    static constexpr unsigned exponents = GR_GROUP_WINDOW_EXPONENTS, bins = 256, per_bin = 1, infinity = 255;
    static constexpr int bits = 24 + GR_GROUP_WINDOW_EXPONENTS; // of an addend, with its sign
    static __device__ float widened(float x) {
        return x;
    }
    static __device__ float widened(gr_f16 x) {
        return __half2float(x);
    }
    static __device__ float widened(gr_bf16 x) {
        return __bfloat162float(x);
    }
    static __device__ unsigned exponent(In x) {
        return __float_as_uint(widened(x)) >> 23 & 255;
    }
    static __device__ WindowPlace place(In x, const WindowChoice &choice) {
        const uint32_t above = (__float_as_uint(widened(x)) & 0x7fffffff) - (choice.first << 23);
        return {above < choice.windows * exponents << 23, above >= exponents << 23};
    }
    // The sum of 1.5 * 2^52 and the addend: that is the number of its lower 52 bits.
    static __device__ int64_t addend(In x, const WindowChoice &choice, unsigned window) {
        const unsigned scale = 1023 + 150 - choice.first - window * exponents;
        const double sum = __fma_rn(double(widened(x)), __hiloint2double(int(scale << 20), 0), 0x1.8p52);
        return __double_as_longlong(sum) - 0x4338000000000000;
    }
    template <class Adder> static __device__ void add_outside(In x, uint64_t result, const Adder &adder) {
        if (__float_as_uint(widened(x)) != 0)
            adder.add(x, result);
    }
};

// Three words: addends have 73 bits.
template <> struct Addends<double> {
    static constexpr unsigned words = 3, exponents = GR_GROUP_WINDOW_EXPONENTS, bins = 512, per_bin = 4,
                              infinity = 2047;
    static constexpr int bits = 53 + GR_GROUP_WINDOW_EXPONENTS;
    struct Addend {
        int64_t upper = 0; // bits from 32 on
        uint64_t low = 0;  // 32 bits; in sums, more
    };
    using Upper = int64_t;
    static __device__ int32_t low(const Addend &addend) {
        return int32_t(addend.low);
    }
    static __device__ Upper upper(const Addend &addend) {
        return addend.upper + int64_t(addend.low >> 32);
    }
    static __device__ void add_to(Addend &sum, const Addend &addend) {
        sum.upper += addend.upper;
        sum.low += addend.low;
    }
    static __device__ Addend warp_sum(const Addend &addend) {
        return {warp_sum_of(addend.upper), uint64_t(warp_sum_of(int64_t(addend.low)))};
    }
    static __device__ unsigned exponent(double x) {
        return unsigned(__double2hiint(x)) >> 20 & 2047;
    }
    static __device__ WindowPlace place(double x, const WindowChoice &choice) {
        const unsigned above = exponent(x) - choice.first;
        return {above < choice.windows * exponents, above >= exponents};
    }
    static __device__ Addend addend(double x, const WindowChoice &choice, unsigned window) {
        const unsigned above = exponent(x) - choice.first - window * exponents;
        const int64_t word = __double_as_longlong(x);
        const int64_t magnitude = (word & 0xfffffffffffff) | 1ll << 52,
                      value = word < 0 ? -magnitude : magnitude;
        return {value >> (32 - above), uint64_t(value) << above & 0xffffffff};
    }
    template <class Adder> static __device__ void add_outside(double x, uint64_t result, const Adder &adder) {
        if (__double_as_longlong(x) != 0)
            adder.add(x, result);
    }
};

// Integers of up to 64 bits, whose sums wrap.
template <class In> struct IntegerAddends : TwoWords {
    static constexpr unsigned exponents = 1, bins = 0;
    static __device__ WindowPlace place(In, const WindowChoice &) {
        return {true, 0};
    }
    static __device__ int64_t addend(In x, const WindowChoice &, unsigned) {
        return int64_t(x);
    }
    template <class Adder> static __device__ void add_outside(In, uint64_t, const Adder &) {
    }
};
template <> struct Addends<int32_t> : IntegerAddends<int32_t> {};
template <> struct Addends<uint32_t> : IntegerAddends<uint32_t> {};
template <> struct Addends<int64_t> : IntegerAddends<int64_t> {};

} // namespace gr::groups
