// Where the elements of a layout lie.
#pragma once

#include "reduce/general/params.h"

inline __device__ uint64_t quotient(uint64_t n, const gr_divisor &by) {
    return __umul64hi(n, by.magic) >> by.shift;
}

// Calls add(d, digit) for each dimension from First on that is there: where element number `index` lies along
// it.
template <unsigned First, class Dims, class Add>
__device__ void each_digit(const Dims &dims, uint64_t index, const Add &add) {
#pragma unroll
    for (unsigned d = First; d < GR_MAX_DIMS; ++d) {
        if (d + 1 == GR_MAX_DIMS || dims.extent[d + 1] == 1) { // the rest is 1 too, as the host sorts them
            add(d, index);
            return;
        }
        const uint64_t rest = quotient(index, dims.by[d]);
        add(d, index - rest * dims.extent[d]);
        index = rest;
    }
}

// Byte offsets of element number `index` of some dimensions, in the input and in `second`.
struct Offsets {
    int64_t in, second;
};

template <unsigned First = 0> __device__ Offsets offsets(const gr_dims &dims, uint64_t index) {
    Offsets sum = {0, 0};
    each_digit<First>(dims, index, [&](unsigned d, uint64_t at) {
        sum.in += int64_t(at) * dims.stride[d];
        sum.second += int64_t(at) * dims.second_stride[d];
    });
    return sum;
}

// The place of a result, in elements.
inline __device__ int64_t place_of(const gr_places &place, uint64_t index) {
    int64_t sum = 0;
    each_digit<0>(place, index, [&](unsigned d, uint64_t at) { sum += int64_t(at) * place.stride[d]; });
    return sum;
}

// Elements along the first two dimensions, which a Walk goes through; the others are gone through outside it.
inline __device__ uint64_t walk_length(const gr_dims &along) {
    return along.extent[0] * along.extent[1];
}

// What thread number `thread` of those that share a result takes of the elements along the first two
// dimensions, and of the others.
struct Turns {
    uint64_t first, outer;

    __device__ Turns(const gr_general_params &p, uint64_t thread) : first(thread), outer(0) {
        if (p.groups > 1) {
            outer = unsigned(thread) / unsigned(p.walkers);
            first = thread - outer * p.walkers;
            if (outer >= p.groups)
                outer = p.count; // there are no such
        }
    }
};

// Steps through elements that lie evenly, or so in each of extent[1] pieces. It adds where `offsets` would
// divide.
struct Walk {
    Offsets at; // of the present element

    __device__ Walk(const gr_dims &along, uint64_t first, uint64_t step)
        : extent(~uint64_t(0)), within(first), step_within(step), wrap{0, 0} {
        at = {int64_t(first) * along.stride[0], int64_t(first) * along.second_stride[0]};
        ahead = {int64_t(step) * along.stride[0], int64_t(step) * along.second_stride[0]};
        if (along.extent[1] > 1) {
            extent = along.extent[0];
            const uint64_t before = quotient(first, along.by[0]), wraps = quotient(step, along.by[0]);
            within = first - before * extent;
            step_within = step - wraps * extent;
            // From behind a piece to the next one.
            wrap.in = along.stride[1] - int64_t(extent) * along.stride[0];
            wrap.second = along.second_stride[1] - int64_t(extent) * along.second_stride[0];
            at.in += int64_t(before) * wrap.in;
            at.second += int64_t(before) * wrap.second;
            ahead.in += int64_t(wraps) * wrap.in;
            ahead.second += int64_t(wraps) * wrap.second;
        }
    }
    // Of the element that many steps on, where all lie evenly.
    __device__ Offsets ahead_by(unsigned steps) const {
        return {at.in + int64_t(steps) * ahead.in, at.second + int64_t(steps) * ahead.second};
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
