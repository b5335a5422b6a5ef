// Offsets of elements in arrays of any strides. Numbers of elements are split into one index per dimension by
// divisions that the host prepared (fast division by multiplication and shift).
#pragma once

#include "reduce/general/params.h"

namespace gr::common {

inline __device__ uint64_t quotient(uint64_t n, const gr_fast_divmod &by) {
    return __umul64hi(n, by.magic) >> by.shift;
}

// The same for any divisor d, for which the host made `by`.
inline __device__ uint64_t quotient(uint64_t n, uint64_t d, const gr_fast_divmod &by) {
    return d > 1 ? quotient(n, by) : n;
}

// Calls add(d, digit) for each dimension from First on: `digit` is the index of element number `index` along
// it.
template <unsigned First, class Dims, class Add>
__device__ void each_digit(const Dims &dims, uint64_t index, const Add &add) {
#pragma unroll
    for (unsigned d = First; d < GR_MAX_DIMS; ++d) {
        if (d + 1 == GR_MAX_DIMS ||
            dims.extent[d + 1] == 1) { // all further extents are 1, as the host sorts them
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

// The offset of a result, in elements.
inline __device__ int64_t place_of(const gr_output_layout &place, uint64_t index) {
    int64_t sum = 0;
    each_digit<0>(place, index, [&](unsigned d, uint64_t at) { sum += int64_t(at) * place.stride[d]; });
    return sum;
}

// The number of elements along the first two dimensions, through which a Walk steps; the loop over the others
// is outside of it.
inline __device__ uint64_t walk_length(const gr_dims &along) {
    return along.extent[0] * along.extent[1];
}

// The number of steps of a walk in this number of elements.
inline __device__ uint64_t steps_in(const gr_strided_iterator &walk, uint64_t elements) {
    return walk.step > 1 ? quotient(elements, walk.by) : elements;
}

// The elements that thread number `thread` of a result's threads takes, along the first two dimensions and
// along the others.
struct ThreadShare {
    uint64_t first, outer;

    __device__ ThreadShare(const gr_general_params &p, uint64_t thread) : first(thread), outer(0) {
        if (p.groups > 1) {
            outer = steps_in(p.iterator, thread);
            first = thread - outer * p.iterator.step;
        }
        if (outer >= p.groups || first >= p.iterator.step)
            outer = p.count; // no elements
    }
};

// Steps through elements that lie evenly, or so in each of extent[1] pieces, by p.iterator.step at a time.
// Second: in `second`, too.
template <bool Second> struct Walk {
    Offsets at; // of the present element

    __device__ Walk(const gr_general_params &p, uint64_t first) : within(first) {
        const gr_dims &along = p.along;
        at = {int64_t(first) * along.stride[0], Second ? int64_t(first) * along.second_stride[0] : 0};
        if (p.iterator.extent != ~uint64_t(0)) {
            const uint64_t turns = quotient(first, along.by[0]);
            within -= turns * p.iterator.extent;
            at.in += int64_t(turns) * p.iterator.wrap_increment;
            if (Second)
                at.second += int64_t(turns) * p.iterator.second_wrap_increment;
        }
    }
    // The same where all elements have one stride.
    __device__ void next_evenly(const gr_strided_iterator &walk) {
        at.in += walk.increment;
        if (Second)
            at.second += walk.second_increment;
    }
    __device__ void next(const gr_strided_iterator &walk) {
        at.in += walk.increment;
        within += walk.step_remainder;
        const bool wraps = within >= walk.extent;
        within -= wraps ? walk.extent : 0;
        at.in += wraps ? walk.wrap_increment : 0;
        if (Second) {
            at.second += walk.second_increment;
            at.second += wraps ? walk.second_wrap_increment : 0;
        }
    }

  private:
    uint64_t within;
};

} // namespace gr::common
