// Accumulators of exact group sums: integers, whose additions commute, so that neither the order of rows nor
// of blocks has an effect on a sum. A plane is a 64-bit integer in device memory for the elements of a range
// of exponents; an element is added to it by one atomic addition.
#pragma once

#include <cstdint>

#include "common/element_types.cuh"
#include "groups/params.h"

namespace gr::groups {

using namespace common;

// Integer dtypes: with their names in dtypes.def.
#define GR_GROUP_INTEGERS(X)                                                                                 \
    X(b8, gr_bool)                                                                                           \
    X(i8, int8_t)                                                                                            \
    X(i16, int16_t)                                                                                          \
    X(i32, int32_t) X(i64, int64_t) X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) X(u64, uint64_t)
enum {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_GROUP_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

// How elements of type In become addends of planes. add(x, sink) calls sink(plane, addend), and returns flags
// of GR_EXACT_ and GR_GROUP_MINUS_ZERO.
template <class In> struct Planes;

template <unsigned First, unsigned Count> struct FloatPlanes {
    static constexpr unsigned count = Count, bits = GR_GROUP_FLOAT_BITS;
    static constexpr int position = First * bits; // of plane 0, in a narrow state
    static constexpr int bias = 150;              // an element is an integer times 2^(exponent - bias)
    static constexpr gr_exact_size size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};

    template <class Sink> static __device__ unsigned add(float x, const Sink &sink) {
        const uint32_t word = __float_as_uint(x), exponent = word >> 23 & 255, fraction = word & 0x7fffff;
        if (exponent == 255)
            return fraction != 0 ? GR_EXACT_NAN : word >> 31 ? GR_EXACT_MINUS_INFINITY : GR_EXACT_INFINITY;
        if (word << 1 == 0)
            return word != 0 ? GR_GROUP_MINUS_ZERO : 0;
        const int32_t value = int32_t(exponent > 0 ? fraction | 0x800000 : fraction);
        const unsigned at = (exponent > 0 ? exponent : 1) + (GR_EXACT_NARROW_BELOW - 150);
        sink(at / bits - First, int64_t(word >> 31 ? -value : value) << at % bits);
        return 0;
    }
};

template <> struct Planes<float> : FloatPlanes<0, GR_GROUP_FLOAT_PLANES> {
    static constexpr gr_exact_format format = {24, 8};
    using Bits = uint32_t;
};
template <> struct Planes<gr_bf16> : FloatPlanes<0, GR_GROUP_FLOAT_PLANES> {
    static constexpr gr_exact_format format = {8, 8};
    using Bits = uint16_t;
    template <class Sink> static __device__ unsigned add(gr_bf16 x, const Sink &sink) {
        return FloatPlanes::add(__bfloat162float(x), sink);
    }
};
template <> struct Planes<gr_f16> : FloatPlanes<GR_GROUP_HALF_FIRST, GR_GROUP_HALF_PLANES> {
    static constexpr gr_exact_format format = {11, 5};
    using Bits = uint16_t;
    template <class Sink> static __device__ unsigned add(gr_f16 x, const Sink &sink) {
        return FloatPlanes::add(__half2float(x), sink);
    }
};
template <> struct Planes<double> {
    static constexpr unsigned count = GR_GROUP_DOUBLE_PLANES, bits = GR_GROUP_DOUBLE_BITS;
    static constexpr int position = 0;
    static constexpr int bias = 1075;
    static constexpr gr_exact_size size = {GR_EXACT_WIDE_WORDS, GR_EXACT_WIDE_BELOW};
    static constexpr gr_exact_format format = {53, 11};
    using Bits = uint64_t;

    template <class Sink> static __device__ unsigned add(double x, const Sink &sink) {
        const uint64_t word = uint64_t(__double_as_longlong(x));
        const gr_exact_decomposed parts = gr_exact_decompose(word);
        if (parts.value == 0)
            return word << 1 != 0 ? parts.flags & ~uint32_t(GR_EXACT_NOT_MINUS_ZERO)
                                  : (word != 0 ? GR_GROUP_MINUS_ZERO : 0);
        const unsigned at = parts.position + (GR_EXACT_WIDE_BELOW - 1075);
        const gr_exact_addends pieces = gr_exact_split(parts.value, at);
#pragma unroll
        for (unsigned i = 0; i < 3; ++i)
            if (pieces.at[i] != 0)
                sink(at / bits + i, pieces.at[i]);
        return 0;
    }
};
// Integers: their lower 32 bits, and the others.
template <> struct Planes<int64_t> {
    static constexpr unsigned count = GR_GROUP_INTEGER_PLANES, bits = 32;
    static constexpr int position = 0;
    static constexpr gr_exact_size size = {8, 0};
    static constexpr gr_exact_format format = {53, 11};
    using Bits = uint64_t;
};

} // namespace gr::groups
