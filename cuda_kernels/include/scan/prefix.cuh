// Prefixes that are put together in a fixed order.
#pragma once

#include "grid/lookback_tiles.cuh"

namespace gr::scan {

using namespace grid;

// What is before an element, if anything is.
template <class F> struct Prefix {
    using State = typename F::State;
    State state;
    bool has;
    __device__ void append(const State &behind) {
        state = has ? F::combine(state, behind) : behind;
        has = true;
    }
    __device__ void prepend(const State &in_front) {
        state = has ? F::combine(in_front, state) : in_front;
        has = true;
    }
};

template <class F> __device__ Prefix<F> no_prefix() {
    return {F::identity(), false};
}

// The sum of the first `lanes` lanes, a power of two, in aligned pairs, pairs of pairs and so on; valid in
// lane 0.
template <class F> __device__ typename F::State sum_aligned(typename F::State x, unsigned lanes) {
    for (unsigned step = 1; step < lanes; step *= 2)
        x = F::combine(x, shuffle_down(x, step));
    return x;
}

// Inclusive prefixes of the lanes of a warp (Kogge and Stone).
template <class F> __device__ typename F::State scan_lanes(typename F::State x, unsigned lane) {
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const typename F::State other = shuffle_up(x, step);
        if (lane >= step)
            x = F::combine(other, x);
    }
    return x;
}

// Inclusive prefixes of 2^shift-th lanes (Sklansky): the sum of an aligned group of them is put in front of
// the prefixes in the group behind it. So a prefix has the sums of aligned groups, as if sum_aligned made
// them. `lanes`: a power of two, of which each begins anew.
template <class F>
__device__ typename F::State scan_aligned(typename F::State x, unsigned lane, unsigned shift = 0,
                                          unsigned lanes = 32) {
    const unsigned i = lane >> shift;
    for (unsigned step = 1; step < lanes; step *= 2) {
        const unsigned before = (i & ~(2 * step - 1)) + step - 1;
        const typename F::State other = shuffle_from(x, lane - ((i - before) << shift));
        if (i & step)
            x = F::combine(other, x);
    }
    return x;
}

} // namespace gr::scan
