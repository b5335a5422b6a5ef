// Results whose elements are not contiguous, in an order that follows from their number alone. Element number
// k belongs to lane k mod n, n being a power of two, and each lane adds its elements one after the other. A
// binary tree combines neighbouring lanes: 0 and 1, 2 and 3, then these States. A thread has one lane or
// several neighbouring ones, a block neighbouring ones of these, and pass 2 combines the States of blocks.
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

// Adds each element x(j) of a batch for which there(j) to what is kept of a lane, behind `rows` others.
template <class F, class In, class Each, class There>
__device__ void take_batch(typename BatchState<F, In>::ThreadState &kept, uint64_t rows, const Each &x,
                           const There &there) {
    constexpr unsigned batch = batch_size<F, In>;
    if constexpr (BatchState<F, In>::there) {
        BatchState<F, In>::template take<batch>(kept, uint32_t(rows), x, there);
    } else if constexpr (BatchAccumulator<F, In>::there) {
        kept = BatchAccumulator<F, In>::template add<batch>(kept, x, there, 0, 0);
    } else {
#pragma unroll
        for (unsigned j = 0; j < batch; ++j)
            if (there(j))
                kept = Append<F, In>::to(kept, x(j), 0);
    }
}

// The State of a lane of `count` elements, `step` bytes apart in memory of any kind: load(at) is the one at
// address or offset `at`. N elements are in flight, whole batches.
template <class F, class In, unsigned N, class At, class Load>
__device__ typename F::State lane_of(At at, At step, uint64_t count, const Load &load) {
    constexpr unsigned batch = batch_size<F, In>;
    typename BatchState<F, In>::ThreadState kept = BatchState<F, In>::init();
#pragma unroll 1
    for (uint64_t done = 0; done < count; done += N) {
        const unsigned turn = count - done < N ? unsigned(count - done) : N;
        In loaded[N];
#pragma unroll
        for (unsigned j = 0; j < N; ++j, at += step)
            if (j < turn)
                loaded[j] = load(at);
#pragma unroll
        for (unsigned first = 0; first < N; first += batch)
            if (first < turn)
                take_batch<F, In>(
                    kept, done + first, [&](unsigned j) { return loaded[first + j]; },
                    [&](unsigned j) { return first + j < turn; });
    }
    return BatchState<F, In>::to_state(kept, count);
}

enum { GR_MAX_TURN_BITS = 8 }; // log2 of the lanes of a thread, or of the sets of a block: see lane_plan.c

// Combines the States of 2^bits neighbouring lanes, one lane after the other: of_lane(j, s) makes those of
// lane j. States of which the other branch is not there yet are kept in memory of the thread.
template <class F, unsigned N, class OfLane>
__device__ void tree_of_lanes(unsigned lanes, typename F::State (&s)[N], const OfLane &of_lane) {
    if constexpr (is_ordered<F>) {
        typename F::State kept[GR_MAX_TURN_BITS][N];
#pragma unroll 1
        for (unsigned j = 0; j < lanes; ++j) {
            of_lane(j, s);
            unsigned level = 0;
#pragma unroll 1
            for (; j >> level & 1; ++level)
#pragma unroll
                for (unsigned e = 0; e < N; ++e)
                    s[e] = F::combine(kept[level][e], s[e]);
            if (j + 1 < lanes)
#pragma unroll
                for (unsigned e = 0; e < N; ++e)
                    kept[level][e] = s[e];
        }
    } else {
        of_lane(0, s);
    }
}

template <class F> __device__ unsigned lanes_of_thread(const gr_general_params &p) {
    return is_ordered<F> ? GR_LANES(p.flags) : 1;
}

// Combines the States of `threads` neighbouring threads, a power of two up to a warp, into the State of the
// first thread: neighbours first if `is_near`.
template <class F>
__device__ typename F::State combine_neighbours(typename F::State x, unsigned threads, bool is_near) {
    for (unsigned offset = is_near ? 1 : threads / 2; is_near ? offset < threads : offset > 0;
         offset = is_near ? offset * 2 : offset / 2)
        x = F::combine(x, shuffle_down(x, offset, threads));
    return x;
}

} // namespace gr::reduce
