// general_pieces: results of contiguous elements, in an order that follows from their number alone. A row is
// cut into pieces, and a piece into strips of eight vectors for each of its lanes. A lane folds its strips
// from the first to the last, the lanes of a piece are combined by shuffles, and the pieces of a row by a
// tree of eight branches per node. Who takes what is free: a group of lanes takes one strip of a piece, all
// strips of a piece, or all pieces of a row.
#pragma once

#include "reduce/general/rows.cuh"

namespace gr::reduce {

enum { GR_STRIP_VECTORS = GR_STRIP_BYTES / GR_VECTOR_BYTES };

// ---- accumulators: what vectors alone make, and the fold of two ----

template <class A, class = void> constexpr bool folds = false;
template <class A> constexpr bool folds<A, decltype(void(&A::fold))> = true;
template <class A, class = void> constexpr bool makes_vectors = false;
template <class A> constexpr bool makes_vectors<A, decltype(void(&A::template of<1>))> = true;

template <class F, class A>
__device__ typename A::Acc fold(const typename A::Acc &first, const typename A::Acc &second) {
    if constexpr (folds<A>) {
        return A::fold(first, second);
    } else {
        static_assert(std::is_same<typename A::Acc, typename F::State>::value, "A needs a fold of its own");
        return F::combine(first, second);
    }
}

template <class A, unsigned N, class In> __device__ typename A::Acc of_vectors(const Vec16<In> *x) {
    if constexpr (makes_vectors<A>) {
        return A::template of<N>(x);
    } else {
        typename A::Acc acc = A::init();
        A::template accumulate<N>(acc, x, 0, 0);
        return acc;
    }
}

// ---- one lane of a piece ----

// Loads N vectors, `apart` vectors from one to the next. At another alignment it loads element by element.
template <unsigned N, class In>
__device__ void load_apart(Vec16<In> (&x)[N], uint64_t from, unsigned apart, unsigned count, bool aligned) {
    const uint64_t bytes = 16 * uint64_t(apart);
    if (aligned) {
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            if (k < count)
                x[k] = *reinterpret_cast<const Vec16<In> *>(from + k * bytes);
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < N; ++k)
        if (k < count) {
            Vec16Elements<In> elements;
#pragma unroll
            for (unsigned e = 0; e < Vec16<In>::length; ++e)
                elements.element[e] = reinterpret_cast<const In *>(from + k * bytes)[e];
            x[k] = elements.chunk;
        }
}

// The vectors of a piece, as one lane reads them: it has every lanes-th one.
template <class F, class A, class In> struct PieceLane {
    static constexpr unsigned strip = GR_STRIP_VECTORS, half = strip / 2;
    uint64_t from;
    unsigned vectors, lane, lanes, lane_bits;
    bool aligned;

    __device__ unsigned strips() const {
        return lane < vectors ? ((vectors - lane - 1) >> lane_bits) / strip + 1 : 0;
    }
    // The last strip of a lane, which is not whole. Of the vectors behind half a strip each is folded alone.
    __device__ typename A::Acc part_of_strip(unsigned at) const {
        typename A::Acc acc = A::init();
        const bool has_half = at + (half - 1) * lanes < vectors;
        if (has_half) {
            Vec16<In> x[half];
            load_apart(x, from + 16 * uint64_t(at), lanes, half, aligned);
            acc = of_vectors<A, half>(x);
            at += half * lanes;
        }
        const unsigned left = at < vectors ? ((vectors - at - 1) >> lane_bits) + 1 : 0;
        Vec16<In> x[half - 1];
        load_apart(x, from + 16 * uint64_t(at), lanes, left, aligned);
#pragma unroll
        for (unsigned k = 0; k < half - 1; ++k)
            if (k < left) {
                const typename A::Acc one = of_vectors<A, 1>(x + k);
                acc = k > 0 || has_half ? fold<F, A>(acc, one) : one;
            }
        return acc;
    }
    // Every share-th strip from number `first` on: one strip, or all of them.
    __device__ typename A::Acc take(unsigned first, unsigned share) const {
        typename A::Acc acc = A::init();
        unsigned at = lane + first * strip * lanes;
        bool has_one = false;
#pragma unroll 1
        for (; at + (strip - 1) * lanes < vectors; at += strip * lanes * share) {
            Vec16<In> x[half];
            load_apart(x, from + 16 * uint64_t(at), lanes, half, aligned);
            typename A::Acc one = of_vectors<A, half>(x);
            load_apart(x, from + 16 * uint64_t(at + half * lanes), lanes, half, aligned);
            if constexpr (in_rows<A>)
                A::template accumulate_in_row<half>(one, x);
            else
                one = fold<F, A>(one, of_vectors<A, half>(x));
            acc = has_one ? fold<F, A>(acc, one) : one;
            has_one = true;
        }
        if (at < vectors) {
            const typename A::Acc one = part_of_strip(at);
            acc = has_one ? fold<F, A>(acc, one) : one;
        }
        return acc;
    }
};

// ---- pieces ----

// The States of `lanes` neighbouring threads, a power of two up to a warp, into the State of the first.
template <class F> __device__ typename F::State combine_lanes(typename F::State x, unsigned lanes) {
    if constexpr (adds_up_warps<F>)
        if (lanes == 32)
            return F::add_up_warp(x);
    if constexpr (has_lanes<F>)
        x = F::of_lanes(x, lanes);
    else
        for (unsigned offset = lanes / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, lanes));
    return x;
}

// Combines the States of the pieces of a row, one after the other: a node of the tree has eight branches, of
// which the last one may be missing. A warp keeps a State for each level.
template <class F> struct PieceTree {
    typename F::State level[GR_PIECE_LEVELS];

    // Takes in a piece; at the last one it returns the State of the row.
    __device__ typename F::State add(uint64_t piece, uint64_t pieces, typename F::State x) {
        const bool last = piece + 1 == pieces;
        for (unsigned i = 0; i < GR_PIECE_LEVELS && pieces > 1; ++i) {
            const unsigned branch = unsigned(piece) % GR_PIECE_BRANCHES;
            x = branch > 0 ? F::combine(level[i], x) : x;
            level[i] = x;
            if (branch + 1 < GR_PIECE_BRANCHES && !last)
                break;
            piece /= GR_PIECE_BRANCHES;
            pieces = (pieces - 1) / GR_PIECE_BRANCHES + 1;
        }
        return x;
    }
};

template <class F, class A, class In> __device__ void reduce_pieces(const gr_general_params &p) {
    using State = typename F::State;
    using Acc = typename A::Acc;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(Acc)];
    __shared__ alignas(16) unsigned char raw_trees[GR_GENERAL_THREADS / 32 * sizeof(PieceTree<F>)];
    Acc *const strips = reinterpret_cast<Acc *>(raw);
    const gr_pieces &r = p.pieces;
    const unsigned lane_bits = r.lane_bits, lanes = 1u << lane_bits, share_bits = r.share_bits;
    const unsigned along = p.threads_along, at = threadIdx.x & (along - 1), lane = at & (lanes - 1);
    const unsigned strip = (at >> lane_bits) & ((1u << share_bits) - 1), warp = threadIdx.x / 32;
    const unsigned side_by_side = along >> (lane_bits + share_bits); // pieces of a row
    const uint64_t result = uint64_t(blockIdx.x) * (GR_GENERAL_THREADS / along) + threadIdx.x / along;
    const bool active = result < p.results;
    const uint64_t base = p.in + offsets(p.keep, active ? result : 0).in;
    const uint64_t before = uint64_t(blockIdx.y) * side_by_side + (at >> (lane_bits + share_bits));
    State whole = F::identity();
    pdl_begin(p);
    // Lanes of one warp may have several rows, but then these have one piece each.
    for (uint64_t piece = before; piece < r.pieces; piece += uint64_t(side_by_side) * gridDim.y) {
        const uint64_t begin = piece * r.length, left = r.run - begin;
        const unsigned count = !active ? 0 : left < r.length ? unsigned(left) : unsigned(r.length);
        const unsigned vectors = count / Vec16<In>::length, singles = count % Vec16<In>::length;
        const PieceLane<F, A, In> mine = {base + begin * sizeof(In),     vectors, lane, lanes, lane_bits,
                                          !(p.flags & GR_UNALIGNED_ROWS)};
        Acc acc = mine.take(strip, 1u << share_bits);
        if (share_bits > 0) {
            strips[threadIdx.x] = acc;
            __syncthreads();
            const unsigned all = strip == 0 ? mine.strips() : 0;
            for (unsigned k = 1; k < all; ++k)
                acc = fold<F, A>(acc, strips[threadIdx.x + (k << lane_bits)]);
        }
        State x = A::to_state(acc);
        for (unsigned i = lane; i < singles; i += lanes)
            x = F::combine(x, F::load(reinterpret_cast<const In *>(mine.from)[count - singles + i], 0));
        x = combine_lanes<F>(x, lanes);
        if (side_by_side == 1 && gridDim.y == 1 && r.pieces > 1) {
            if (lane == 0)
                whole = reinterpret_cast<PieceTree<F> *>(raw_trees)[warp].add(piece, r.pieces, x);
        } else {
            whole = x;
        }
    }
    pdl_as_comments::pdl_launch_dependents();
    if (side_by_side > 1) { // a node of the tree
        State *const nodes = reinterpret_cast<State *>(raw_trees);
        if (lane == 0)
            nodes[warp] = whole;
        __syncthreads();
        const uint64_t behind = r.pieces - uint64_t(blockIdx.y) * side_by_side;
        if (at == 0)
            for (unsigned k = 1; k < side_by_side && k < behind; ++k)
                whole = F::combine(whole, nodes[warp + k]);
    }
    if (at == 0 && active)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, whole);
}

} // namespace gr::reduce
