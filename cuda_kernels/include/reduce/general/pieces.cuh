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

// Whether the fold of no elements and others is exactly those others.
template <class A, class = void> constexpr bool is_neutral = false;
template <class A> constexpr bool is_neutral<A, decltype(void(A::neutral))> = A::neutral;

// ---- one lane of a piece ----

// The vector at an address: element by element unless it is aligned.
template <bool Aligned, class In> __device__ Vec16<In> vec16_at(uint64_t from) {
    if constexpr (Aligned) {
        return *reinterpret_cast<const Vec16<In> *>(from);
    } else {
        Vec16Elements<In> x;
#pragma unroll
        for (unsigned e = 0; e < Vec16<In>::length; ++e)
            x.element[e] = reinterpret_cast<const In *>(from)[e];
        return x.chunk;
    }
}
template <bool Aligned, unsigned N, class In>
__device__ void load_apart(Vec16<In> (&x)[N], uint64_t from, uint64_t apart) {
#pragma unroll
    for (unsigned k = 0; k < N; ++k)
        x[k] = vec16_at<Aligned, In>(from + k * apart);
}

// A lane folds the vectors that it has of a piece, from the first one on. `from`: address of its first
// vector; `apart`: bytes from one to the next; `left`: vectors from there on. It takes every step-th strip.
template <class F, class A, class In, bool Aligned>
__device__ typename A::Acc of_lane(uint64_t from, uint64_t apart, int left, unsigned step) {
    using Acc = typename A::Acc;
    constexpr int strip = GR_STRIP_VECTORS, half = strip / 2;
    Acc acc = A::init();
    bool has_one = is_neutral<A>;
#pragma unroll 1
    for (; left >= strip; left -= int(step) * strip, from += step * strip * apart) {
        Vec16<In> x[half];
        load_apart<Aligned>(x, from, apart);
        Acc one = of_vectors<A, half>(x);
        load_apart<Aligned>(x, from + half * apart, apart);
        if constexpr (in_rows<A>)
            A::template accumulate_in_row<half>(one, x);
        else
            one = fold<F, A>(one, of_vectors<A, half>(x));
        acc = has_one ? fold<F, A>(acc, one) : one;
        has_one = true;
    }
    if (left <= 0)
        return acc;
    // The last strip, which is not whole: of the vectors behind half a strip each is folded alone.
    Acc one = A::init();
    bool has_vectors = is_neutral<A>;
    if (left >= half) {
        Vec16<In> x[half];
        load_apart<Aligned>(x, from, apart);
        one = of_vectors<A, half>(x);
        has_vectors = true;
        left -= half;
        from += half * apart;
    }
    Vec16<In> x[half - 1];
#pragma unroll
    for (int k = 0; k < half - 1; ++k)
        if (k < left)
            x[k] = vec16_at<Aligned, In>(from + k * apart);
#pragma unroll
    for (int k = 0; k < half - 1; ++k)
        if (k < left) {
            const Acc single = of_vectors<A, 1>(x + k);
            one = has_vectors ? fold<F, A>(one, single) : single;
            has_vectors = true;
        }
    return has_one ? fold<F, A>(acc, one) : one;
}

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
    __device__ typename F::State add(unsigned piece, unsigned pieces, typename F::State x) {
        const bool last = piece + 1 == pieces;
        for (unsigned i = 0; i < GR_PIECE_LEVELS && pieces > 1; ++i) {
            const unsigned branch = piece % GR_PIECE_BRANCHES;
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
    const unsigned begin_piece = blockIdx.y * side_by_side + (at >> (lane_bits + share_bits));
    State whole = F::identity();
    pdl_begin(p);
    // Lanes of one warp may have several rows, but then these have one piece each.
    for (unsigned piece = begin_piece; piece < r.pieces; piece += side_by_side * gridDim.y) {
        const uint64_t begin = piece * r.length, left = r.run - begin;
        const unsigned count = !active ? 0 : left < r.length ? unsigned(left) : unsigned(r.length);
        const unsigned vectors = count / Vec16<In>::length, singles = count % Vec16<In>::length;
        const uint64_t from = base + begin * sizeof(In), apart = 16u << lane_bits;
        const int mine = lane < vectors ? int((vectors - lane - 1) >> lane_bits) + 1 : 0;
        const uint64_t first = from + 16 * uint64_t(lane) + (strip * GR_STRIP_VECTORS) * apart;
        const int there = mine - int(strip * GR_STRIP_VECTORS);
        Acc acc = p.flags & GR_UNALIGNED_ROWS
                      ? of_lane<F, A, In, false>(first, apart, there, 1u << share_bits)
                      : of_lane<F, A, In, true>(first, apart, there, 1u << share_bits);
        if (share_bits > 0) {
            strips[threadIdx.x] = acc;
            __syncthreads();
            if (strip == 0)
                for (int k = 1; k * GR_STRIP_VECTORS < mine; ++k)
                    acc = fold<F, A>(acc, strips[threadIdx.x + (k << lane_bits)]);
        }
        State x = A::to_state(acc);
        for (unsigned i = lane; i < singles; i += lanes)
            x = F::combine(x, F::load(reinterpret_cast<const In *>(from)[count - singles + i], 0));
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
        const unsigned behind = r.pieces - blockIdx.y * side_by_side;
        if (at == 0)
            for (unsigned k = 1; k < side_by_side && k < behind; ++k)
                whole = F::combine(whole, nodes[warp + k]);
    }
    if (at == 0 && active)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, whole);
}

} // namespace gr::reduce
