// What the rungs of the convolutions have in common.
#pragma once

#include <cstdint>

#include "conv/params.h"
#include "matmul_wide.cuh"

// Elements from the first one to that of these numbers.
inline __device__ int64_t conv_offset(const gr_conv_steps &steps, uint64_t outer, uint64_t down,
                                      uint64_t along, uint64_t channel) {
    return int64_t(outer) * steps.outer + int64_t(down) * steps.down + int64_t(along) * steps.along +
           int64_t(channel) * steps.channel;
}

// The element of x, along one axis, that a tap of a result is multiplied with; there is none where it is not
// below the axis' size.
inline __device__ uint64_t conv_tap(const gr_conv_axis &axis, uint64_t result, uint64_t tap) {
    return uint64_t(int64_t(result * axis.stride + tap * axis.dilation) - axis.padding);
}
