// general_pieces of two vectors, and general_masked_pieces of a vector under a mask: results of contiguous
// elements, in an order that follows from their number alone, as in pieces.cuh. A strip has a few elements of
// each lane, which loads them one by one; neighbouring lanes load neighbouring elements. Vectors and masks
// may begin at any address.
#pragma once

#include "reduce/general/pieces.cuh"

namespace gr::reduce {

// Registers for the loads of a strip, and for States.
template <class F>
constexpr unsigned pair_occupancy = sizeof(typename F::State) > 16  ? 2
                                    : sizeof(typename F::State) > 8 ? 3
                                                                    : 4;

// A strip of pairs: N of each lane, `apart` elements from each other. `whole` makes the State of all, `of`
// the State of the first `count`, one at least.
template <class F, class In, unsigned N> struct StripOfPairs {
    using State = typename F::State;
    using First = In;
    static constexpr unsigned each = N, strips_apart = GR_PAIR_STRIPS_APART;
    static constexpr bool is_pair = true;
    static constexpr int64_t step = sizeof(In); // bytes from an element of the second vector to the next

    explicit __device__ StripOfPairs(const gr_general_params &) {
    }
    static __device__ State whole(const In *x, uint64_t second, unsigned apart) {
        const In *const y = reinterpret_cast<const In *>(second);
        In one[N], other[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            one[k] = x[k * apart];
            other[k] = y[k * apart];
        }
        return tree<N>([](auto a, auto b) { return F::combine(a, b); },
                       [&](unsigned k) { return F::load(one[k], other[k]); });
    }
    static __device__ State of(const In *x, uint64_t second, unsigned apart, unsigned count) {
        const In *const y = reinterpret_cast<const In *>(second);
        In one[N], other[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            if (k < count) {
                one[k] = x[k * apart];
                other[k] = y[k * apart];
            }
        State s = F::load(one[0], other[0]);
#pragma unroll
        for (unsigned k = 1; k < N; ++k)
            if (k < count)
                s = F::combine(s, F::load(one[k], other[k]));
        return s;
    }
};

// A block has up to GR_PIECE_BRANCHES pieces of a row. The code for masks is short: an operator has many such
// kernels.
template <class F, class Strip> __device__ void reduce_pair_pieces(const gr_general_params &p) {
    using State = typename F::State;
    using In = typename Strip::First;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * Strip::strips_apart * sizeof(State)];
    __shared__ alignas(16) unsigned char raw_nodes[GR_GENERAL_THREADS / 32 * sizeof(State)];
    const gr_pieces &r = p.pieces;
    const unsigned lane_bits = r.lane_bits, lanes = 1u << lane_bits, piece_bits = lane_bits + r.share_bits;
    const unsigned along = p.threads_along, at = threadIdx.x & (along - 1), lane = at & (lanes - 1);
    const bool shares = r.share_bits > 0;
    const unsigned first_strip = (at >> lane_bits & ((1u << r.share_bits) - 1)) * r.each;
    const unsigned side_by_side = along >> piece_bits, piece = blockIdx.y * side_by_side + (at >> piece_bits);
    const uint64_t result = uint64_t(blockIdx.x) * (GR_GENERAL_THREADS / along) + threadIdx.x / along;
    const bool active = result < p.results;
    const Offsets base = offsets(p.keep, active ? result : 0);
    const uint64_t begin = piece * r.length, left = r.run - begin;
    const unsigned count = !active || piece >= r.pieces ? 0 : unsigned(left < r.length ? left : r.length);
    const In *x = reinterpret_cast<const In *>(p.in + base.in) + begin + lane;
    const Strip elements(p);
    const uint64_t y = p.second + base.second + int64_t(begin + lane) * elements.step;
    // States of strips: those of a piece are neighbours.
    State *const strips =
        reinterpret_cast<State *>(raw) + ((threadIdx.x >> piece_bits << piece_bits) * r.each) + lane;
    const unsigned strip = Strip::each << lane_bits, end = min(count, (first_strip + r.each) * strip);
    unsigned k = first_strip, from = first_strip * strip;
    State s = F::identity();
    const auto take = [&](const State &one) {
        if (shares)
            strips[k << lane_bits] = one;
        else
            s = F::combine(s, one);
    };
    pdl_begin(p);
    if (Strip::is_pair && lanes == 32)
#pragma unroll 1
        for (; from + strip <= end; from += strip, ++k)
            if constexpr (Strip::is_pair)
                take(elements.whole(x + from, y + from * elements.step, 32));
#pragma unroll 1
    for (; from + lane < end; from += strip, ++k)
        take(elements.of(x + from, y + int64_t(from) * elements.step, lanes,
                         ((end - from - lane - 1) >> lane_bits) + 1));
    pdl_as_comments::pdl_launch_dependents();
    if (shares) {
        __syncthreads();
        if (first_strip == 0)
            for (k = 0; k * strip + lane < count; ++k)
                s = F::combine(s, strips[k << lane_bits]);
    }
    if constexpr (Strip::is_pair)
        s = combine_lanes<F>(s, lanes);
    else
        for (unsigned offset = lanes / 2; offset > 0; offset /= 2)
            s = F::combine(s, shuffle_down(s, offset, lanes));
    if (side_by_side > 1) { // a node of the tree of pieces
        State *const nodes = reinterpret_cast<State *>(raw_nodes);
        if (lane == 0 && first_strip == 0)
            nodes[threadIdx.x >> piece_bits] = s;
        __syncthreads();
        if (at == 0)
            for (k = 1; k < side_by_side && piece + k < r.pieces; ++k)
                s = F::combine(s, nodes[(threadIdx.x >> piece_bits) + k]);
    }
    if (at == 0 && active) {
        if constexpr (Strip::is_pair) {
            put_one<F>(p, result, s);
        } else {
            uint64_t index = result;
            if (!(p.flags & GR_FINAL))
                index += uint64_t(blockIdx.y) * p.results;
            else if (p.flags & GR_SCATTERED_OUTPUT)
                index = uint64_t(place_of(p.output_layout, result));
            put<F>(p, index, s);
        }
    }
}

} // namespace gr::reduce
