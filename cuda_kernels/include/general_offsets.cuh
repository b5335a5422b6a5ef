// Where the elements of a layout lie.
#pragma once

#include "reduce/general/params.h"

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

// Steps through elements that lie evenly, or so in each of extent[1] pieces; no further dimensions. It adds
// where `offsets` would divide.
struct Walk {
    Offsets at; // of the present element

    __device__ Walk(const gr_dims &along, uint64_t first, uint64_t step)
        : extent(~uint64_t(0)), within(first), step_within(step), wrap{0, 0} {
        at = {int64_t(first) * along.stride[0], int64_t(first) * along.second_stride[0]};
        ahead = {int64_t(step) * along.stride[0], int64_t(step) * along.second_stride[0]};
        if (along.extent[1] > 1) {
            extent = along.extent[0];
            within = first % extent;
            step_within = step % extent;
            // From behind a piece to the next one.
            wrap.in = along.stride[1] - int64_t(extent) * along.stride[0];
            wrap.second = along.second_stride[1] - int64_t(extent) * along.second_stride[0];
            at.in += int64_t(first / extent) * wrap.in;
            at.second += int64_t(first / extent) * wrap.second;
            ahead.in += int64_t(step / extent) * wrap.in;
            ahead.second += int64_t(step / extent) * wrap.second;
        }
    }
    __device__ void next() {
        at.in += ahead.in;
        at.second += ahead.second;
        within += step_within;
        if (within >= extent) {
            within -= extent;
            at.in += wrap.in;
            at.second += wrap.second;
        }
    }

  private:
    uint64_t extent, within, step_within;
    Offsets wrap, ahead;
};
