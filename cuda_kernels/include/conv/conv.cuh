// Common parts of the convolutions: offsets of pixels and taps, and stores of several elements at once.
#pragma once

#include <cstdint>

#include "conv/params.h"
#include "matmul/accumulators.cuh"

namespace gr::conv {

using namespace matmul;

// The rows of rungs.def and tiles.def, which the host plans by: row_c3, row_64x64. Kernels hold their own
// constants against them.
struct ConvRow {
    unsigned threads, shared;
};
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, dtypes, precision,  \
                algorithm, layout_requirement, threads, shared)                                              \
    constexpr ConvRow row_##name = {threads, shared};
#include "conv/rungs.def"
#undef GR_RUNG
#define GR_TILE(pixels, filters, threads, blocks, ...)                                                       \
    constexpr unsigned row_##pixels##x##filters[] = {threads, blocks};
#include "conv/tiles.def"
#undef GR_TILE

// Stores neighbours at once, 4, 8 or 16 bytes. As PTX: if another branch stores them one by one, the compiler
// merges both branches into single stores.
template <class S> __device__ void store_at_once(void *to, const S &neighbours) {
    const uint32_t *v = reinterpret_cast<const uint32_t *>(&neighbours);
    if constexpr (sizeof(S) == 16)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v[0]), "r"(v[1]), "r"(v[2]),
                     "r"(v[3])
                     : "memory");
    else if constexpr (sizeof(S) == 8)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(v[0]), "r"(v[1]) : "memory");
    else
        asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(v[0]) : "memory");
}

// Splits off the fastest digit of a number, which is below `base`.
inline __device__ unsigned next_digit(unsigned &number, unsigned base) {
    const unsigned digit = number % base;
    number /= base;
    return digit;
}

// The distance from the first element to the element with these indices, in elements.
inline __device__ int64_t conv_offset(const gr_conv_strides &strides, uint64_t outer, uint64_t down,
                                      uint64_t along, uint64_t channel) {
    return int64_t(outer) * strides.outer + int64_t(down) * strides.row + int64_t(along) * strides.column +
           int64_t(channel) * strides.channel;
}

// The element of x, along one axis, that a tap of a result is multiplied with; there is none where it is not
// below the axis' size.
inline __device__ uint64_t conv_tap(const gr_conv_axis &axis, uint64_t result, uint64_t tap) {
    return uint64_t(int64_t(result * axis.stride + tap * axis.dilation) - axis.padding);
}

} // namespace gr::conv
