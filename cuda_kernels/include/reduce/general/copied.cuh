// Addresses of the elements that a copy reads and writes.
#pragma once

#include "common/strided_offsets.cuh"

#include <cstdint>

#include "reduce/convert/params.h"

namespace gr::reduce {

using namespace common;

// Adds to the addresses of source and destination the offsets of elements along the dimensions from `First`
// on, for each of N element numbers.
template <unsigned First, unsigned N>
__device__ void go_along(const gr_copy_params &p, uint64_t (&number)[N], uint64_t (&from)[N],
                         uint64_t (&to)[N]) {
#pragma unroll
    for (unsigned d = First; d < GR_CONVERT_DIMS; ++d)
        if (d < p.dims)
#pragma unroll
            for (unsigned i = 0; i < N; ++i) {
                const uint64_t rest = quotient(number[i], p.extent[d], p.by[d]),
                               at = number[i] - rest * p.extent[d];
                from[i] += at * uint64_t(p.stride[d]);
                to[i] += at * uint64_t(p.out_stride[d]);
                number[i] = rest;
            }
}

// Addresses of elements STEP apart, from number `first` on: the first one's by divisions, the others by their
// distance from it, in 32 bits.
template <unsigned STEP, unsigned N>
__device__ void addresses(const gr_copy_params &p, uint64_t first, uint64_t (&from)[N], uint64_t (&to)[N]) {
    uint32_t digit[GR_CONVERT_DIMS];
    uint64_t number = first, last_in = 0, last_out = 0;
    from[0] = p.in;
    to[0] = p.out;
#pragma unroll
    for (unsigned d = 0; d < GR_CONVERT_DIMS; ++d) {
        if (d >= p.dims)
            continue;
        uint64_t at = number;
        if (d + 1 < p.dims) {
            number = quotient(number, p.by[d]);
            at -= number * p.extent[d];
        } else {
            last_in = uint64_t(p.stride[d]);
            last_out = uint64_t(p.out_stride[d]);
        }
        digit[d] = uint32_t(at);
        from[0] += at * uint64_t(p.stride[d]);
        to[0] += at * uint64_t(p.out_stride[d]);
    }
    uint32_t ahead[N];
#pragma unroll
    for (unsigned i = 1; i < N; ++i) {
        ahead[i] = i * STEP;
        from[i] = from[0];
        to[i] = to[0];
    }
#pragma unroll
    for (unsigned d = 0; d + 1 < GR_CONVERT_DIMS; ++d)
        if (d + 1 < p.dims)
#pragma unroll
            for (unsigned i = 1; i < N; ++i) {
                const uint32_t sum = digit[d] + ahead[i];
                const uint32_t carry = __umulhi(sum, p.magic[d]) >> p.shift[d];
                const int64_t more = int32_t(sum - carry * uint32_t(p.extent[d]) - digit[d]);
                from[i] += uint64_t(more * p.stride[d]);
                to[i] += uint64_t(more * p.out_stride[d]);
                ahead[i] = carry;
            }
#pragma unroll
    for (unsigned i = 1; i < N; ++i) {
        from[i] += ahead[i] * last_in;
        to[i] += ahead[i] * last_out;
    }
}

} // namespace gr::reduce
