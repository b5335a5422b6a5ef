// general_pieces of two vectors: results of contiguous elements, in an order that follows from their number
// alone, as in pieces.cuh. A strip has a few elements of each lane, which loads them one by one, beside its
// neighbours, so that both vectors may begin at any address.
#pragma once

#include "reduce/general/pieces.cuh"

namespace gr::reduce {

// Registers for the loads of a strip, and for States.
template <class F>
constexpr unsigned pair_occupancy = sizeof(typename F::State) > 16  ? 2
                                    : sizeof(typename F::State) > 8 ? 3
                                                                    : 4;

// The State of N pairs, `apart` elements from each other.
template <class F, unsigned N, class In>
__device__ typename F::State of_whole_strip_of_pairs(const In *x, const In *y, unsigned apart) {
    In first[N], second[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        first[k] = x[k * apart];
        second[k] = y[k * apart];
    }
    return tree<N>([](auto a, auto b) { return F::combine(a, b); },
                   [&](unsigned k) { return F::load(first[k], second[k]); });
}

// The State of the first `count` of N pairs, of which there is one at least.
template <class F, unsigned N, class In>
__device__ typename F::State of_strip_of_pairs(const In *x, const In *y, unsigned apart, unsigned count) {
    In first[N], second[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k)
        if (k < count) {
            first[k] = x[k * apart];
            second[k] = y[k * apart];
        }
    typename F::State s = F::load(first[0], second[0]);
#pragma unroll
    for (unsigned k = 1; k < N; ++k)
        if (k < count)
            s = F::combine(s, F::load(first[k], second[k]));
    return s;
}

// `Each`: elements of a lane in a strip. A block has up to GR_PIECE_BRANCHES pieces of a row.
template <class F, class In, unsigned Each> __device__ void reduce_pair_pieces(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * GR_PAIR_STRIPS_APART * sizeof(State)];
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
    const In *y = reinterpret_cast<const In *>(p.second + base.second) + begin + lane;
    // States of strips: those of a piece are neighbours.
    State *const strips =
        reinterpret_cast<State *>(raw) + ((threadIdx.x >> piece_bits << piece_bits) * r.each) + lane;
    const unsigned strip = Each << lane_bits, end = min(count, (first_strip + r.each) * strip);
    unsigned k = first_strip, from = first_strip * strip;
    State s = F::identity();
    const auto take = [&](const State &one) {
        if (shares)
            strips[k << lane_bits] = one;
        else
            s = F::combine(s, one);
    };
    pdl_begin(p);
    if (lanes == 32)
#pragma unroll 1
        for (; from + strip <= end; from += strip, ++k)
            take(of_whole_strip_of_pairs<F, Each>(x + from, y + from, 32));
    if (from + lane < end)
        take(of_strip_of_pairs<F, Each>(x + from, y + from, lanes,
                                        ((end - from - lane - 1) >> lane_bits) + 1));
    pdl_as_comments::pdl_launch_dependents();
    if (shares) {
        __syncthreads();
        if (first_strip == 0)
            for (k = 0; k * strip + lane < count; ++k)
                s = F::combine(s, strips[k << lane_bits]);
    }
    s = combine_lanes<F>(s, lanes);
    if (side_by_side > 1) { // a node of the tree of pieces
        State *const nodes = reinterpret_cast<State *>(raw_nodes);
        if (lane == 0 && first_strip == 0)
            nodes[threadIdx.x >> piece_bits] = s;
        __syncthreads();
        if (at == 0)
            for (k = 1; k < side_by_side && piece + k < r.pieces; ++k)
                s = F::combine(s, nodes[(threadIdx.x >> piece_bits) + k]);
    }
    if (at == 0 && active)
        put_one<F>(p, result, s);
}

} // namespace gr::reduce
