// Where the elements of a layout lie.
#pragma once

#include "general_params.h"

// Byte offsets of element number `index` of some dimensions, in the input and in `second`.
struct Offsets {
    int64_t in, second;
};

inline __device__ Offsets offsets(const gr_dims &dims, uint64_t index) {
    Offsets sum = {0, 0};
#pragma unroll
    for (int d = 0; d < GR_MAX_DIMS; ++d) {
        uint64_t at = index;
        if (d + 1 < GR_MAX_DIMS && dims.extent[d + 1] > 1) { // the rest is 1 too, as the host sorts them
            at = index % dims.extent[d];
            index /= dims.extent[d];
        } else {
            index = 0;
        }
        sum.in += int64_t(at) * dims.stride[d];
        sum.second += int64_t(at) * dims.second_stride[d];
    }
    return sum;
}
