// Results of rows with gaps, in an order that follows from the number of their elements alone. Element number
// k belongs to lane k mod n, and each lane adds its elements one after the other. The States of lanes a, a +
// m, a + 2 m, ... are combined one after the other, and those of the first m lanes by a tree. A thread has
// one lane, or several lanes whose numbers are m apart.
#pragma once

#include "reduce/general/general.cuh"
#include "reduce/lanes/params.h"

namespace gr::reduce {

// Whether the bits of a result depend on the order of its elements, so that this follows from their number.
template <class F> constexpr bool is_ordered = false;

// Elements that are added together as one batch.
template <class F, class In, class = void> constexpr unsigned batch_size = 4;
template <class F, class In>
constexpr unsigned batch_size<F, In, decltype(void(&BatchAccumulator<F, In>::to_state))> =
    BatchAccumulator<F, In>::in_flight;

// The States of the lanes of a thread, one after the other: of_lane(j, s) makes those of lane j. Those of the
// lanes before it are in memory of the thread, `kept` and every `apart`-th State behind it.
template <class F, unsigned N, class OfLane>
__device__ void chain_lanes(const gr_general_params &p, typename F::State (&s)[N], typename F::State *kept,
                            unsigned apart, const OfLane &of_lane) {
    if constexpr (is_ordered<F>) {
        const unsigned lanes = GR_LANES(p.flags);
#pragma unroll 1
        for (unsigned j = 0; j < lanes; ++j) {
            of_lane(j, s);
            if (lanes > 1)
#pragma unroll
                for (unsigned e = 0; e < N; ++e) {
                    if (j > 0)
                        s[e] = F::combine(kept[e * apart], s[e]);
                    kept[e * apart] = s[e];
                }
        }
    } else {
        of_lane(0, s);
    }
}

template <class F> __device__ unsigned lanes_of(const gr_general_params &p) {
    return is_ordered<F> ? GR_LANES(p.flags) : 1;
}

// Combines the States of `threads` neighbouring threads, a power of two up to a warp, into that of the first.
template <class F>
__device__ typename F::State combine_neighbours(typename F::State x, unsigned threads, unsigned chain) {
    unsigned width = threads;
    if constexpr (is_ordered<F>)
        if (chain > 1) {
            width = threads / chain;
            const typename F::State mine = x;
#pragma unroll 1
            for (unsigned b = 1; b < chain; ++b)
                x = F::combine(x, shuffle_down(mine, b * width, threads));
        }
    for (unsigned offset = width / 2; offset > 0; offset /= 2)
        x = F::combine(x, shuffle_down(x, offset, threads));
    return x;
}

} // namespace gr::reduce
