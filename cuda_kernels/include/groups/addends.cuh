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
    static __device__ uint32_t word(Addend addend, unsigned i) {
        return uint32_t(uint64_t(addend) >> 32 * i);
    }
    static __device__ Addend warp_sum(Addend addend) {
        return warp_sum_of(addend);
    }
};

// above(x, first) is the number of exponents from `first` to that of x, or a large number for an element that
// no window takes; addend(x, above) is x in units of 2^first. An element outside the windows goes to the
// planes.
template <class In> struct Addends : TwoWords {
    static constexpr unsigned exponents = GR_GROUP_WINDOW_EXPONENTS, bins = 256, per_bin = 1;
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
    static __device__ unsigned above(In x, unsigned first) {
        return exponent(x) - first;
    }
    static __device__ int64_t addend(In x, unsigned above) {
        const uint32_t word = __float_as_uint(widened(x));
        const int32_t value = int32_t((word & 0x7fffff) | 0x800000);
        return int64_t(word >> 31 ? -value : value) << above;
    }
    template <class Adder> static __device__ void add_outside(In x, uint64_t result, const Adder &adder) {
        if (__float_as_uint(widened(x)) != 0)
            adder.add(x, result);
    }
};

// Three words: addends have 73 bits.
template <> struct Addends<double> {
    static constexpr unsigned words = 3, exponents = GR_GROUP_WINDOW_EXPONENTS, bins = 512, per_bin = 4;
    static constexpr int bits = 53 + GR_GROUP_WINDOW_EXPONENTS;
    struct Addend {
        int64_t upper = 0; // bits from 32 on
        uint64_t low = 0;  // 32 bits; in sums of a warp, more
    };
    static __device__ uint32_t word(const Addend &addend, unsigned i) {
        const int64_t upper = addend.upper + int64_t(addend.low >> 32);
        return i == 0 ? uint32_t(addend.low) : uint32_t(upper >> 32 * (i - 1));
    }
    static __device__ Addend warp_sum(const Addend &addend) {
        return {warp_sum_of(addend.upper), uint64_t(warp_sum_of(int64_t(addend.low)))};
    }
    static __device__ unsigned exponent(double x) {
        return unsigned(__double2hiint(x)) >> 20 & 2047;
    }
    static __device__ unsigned above(double x, unsigned first) {
        return exponent(x) - first;
    }
    static __device__ Addend addend(double x, unsigned above) {
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
    static __device__ unsigned above(In, unsigned) {
        return 0;
    }
    static __device__ int64_t addend(In x, unsigned) {
        return int64_t(x);
    }
    template <class Adder> static __device__ void add_outside(In, uint64_t, const Adder &) {
    }
};
template <> struct Addends<int32_t> : IntegerAddends<int32_t> {};
template <> struct Addends<uint32_t> : IntegerAddends<uint32_t> {};
template <> struct Addends<int64_t> : IntegerAddends<int64_t> {};

} // namespace gr::groups
