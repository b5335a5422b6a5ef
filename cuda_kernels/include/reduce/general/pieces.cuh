// general_pieces: results of contiguous elements, in an order that follows from their number alone. A row is
// cut into pieces, and a piece into strips of eight vectors for each of its lanes. A lane folds its strips
// from the first to the last, the lanes of a piece are combined by shuffles, and the pieces of a row by a
// tree of eight branches per node. Who takes what is free: a group of lanes takes a few strips of a piece,
// all of them, or all pieces of a row.
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

// Whether there is an element that an accumulator takes in without any effect.
template <class F, class = void> constexpr bool pads = false;
template <class F> constexpr bool pads<F, decltype(void(F::padding()))> = true;
// 1 is none for complex numbers with infinite parts.
template <> constexpr bool pads<Prod<gr_c64>> = false;
template <> constexpr bool pads<Prod<gr_c128>> = false;

// ---- vectors of rows that begin anywhere ----

// Loads N vectors, the first `valid` of them if that is less, which are `apart` bytes from each other. Those
// that begin anywhere are loaded by elements or words, of which neighbouring lanes read the same sectors.
template <class In, unsigned N>
__device__ void load_vectors(Vec16<In> (&x)[N], uint64_t from, uint64_t apart, int valid, bool unaligned) {
    if (!unaligned) {
#pragma unroll
        for (int k = 0; k < int(N); ++k)
            if (k < valid)
                x[k] = *reinterpret_cast<const Vec16<In> *>(from + k * apart);
    } else if constexpr (sizeof(In) >= 4) {
#pragma unroll
        for (int k = 0; k < int(N); ++k)
            if (k < valid) {
                Vec16Elements<In> all;
#pragma unroll
                for (unsigned e = 0; e < Vec16<In>::length; ++e)
                    all.element[e] = reinterpret_cast<const In *>(from + k * apart)[e];
                x[k] = all.chunk;
            }
    } else { // halves: whole words; from the second half of a word on, a half before and behind them
        const bool odd = from & 2;
        const uint64_t words_at = from + (odd ? 2 : 0);
        uint32_t ends[N]; // the first half, and the last one
#pragma unroll
        for (int k = 0; k < int(N); ++k)
            if (k < valid) {
                const uint16_t *const half = reinterpret_cast<const uint16_t *>(from + k * apart);
                const uint32_t *const whole = reinterpret_cast<const uint32_t *>(words_at + k * apart);
#pragma unroll
                for (unsigned i = 0; i < 3; ++i)
                    x[k].set_word(i, whole[i]);
                x[k].set_word(3, odd ? half[7] : whole[3]);
                ends[k] = odd ? half[0] : 0;
            }
        if (odd)
#pragma unroll
            for (int k = 0; k < int(N); ++k)
#pragma unroll
                for (unsigned i = 4; i-- > 0;)
                    x[k].set_word(
                        i, __funnelshift_l(i > 0 ? x[k].word(i - 1) : ends[k] << 16, x[k].word(i), 16));
    }
}

// ---- one lane of a piece ----

// The second half of a strip, behind the accumulator of the first.
template <class F, class A, unsigned N, class In>
__device__ void add_half(typename A::Acc &one, const Vec16<In> *x) {
    if constexpr (in_rows<A>)
        A::template accumulate_in_row<N>(one, x);
    else
        one = fold<F, A>(one, of_vectors<A, N>(x));
}

// A strip that is whole.
template <class F, class A, class In, bool Unaligned>
__device__ typename A::Acc of_whole_strip(uint64_t from, uint64_t apart) {
    constexpr unsigned half = GR_STRIP_VECTORS / 2;
    Vec16<In> x[half];
    load_vectors<In, half>(x, from, apart, half, Unaligned);
    typename A::Acc one = of_vectors<A, half>(x);
    load_vectors<In, half>(x, from + half * apart, apart, half, Unaligned);
    add_half<F, A, half>(one, x);
    return one;
}

// A strip that may have fewer vectors, `left`. What is missing in half a strip is padded; without an element
// for that, each of its vectors is folded alone.
template <class F, class A, class In>
__device__ typename A::Acc of_strip(uint64_t from, uint64_t apart, int left, bool unaligned) {
    using Acc = typename A::Acc;
    constexpr int half = GR_STRIP_VECTORS / 2;
    Acc one = A::init();
    bool has_vectors = is_neutral<A>;
#pragma unroll 1
    for (int first = 0; first < 2 * half && first < left; first += half, from += half * apart) {
        const int here = left - first;
        Vec16<In> x[half];
        load_vectors<In, half>(x, from, apart, here, unaligned);
        if constexpr (pads<F>) {
#pragma unroll
            for (int k = 0; k < half; ++k)
                x[k] = k < here ? x[k] : broadcast_vec16(F::padding());
        }
        if (pads<F> || here >= half) {
            if (first > 0)
                add_half<F, A, half>(one, x);
            else
                one = of_vectors<A, half>(x);
            has_vectors = true;
        } else {
#pragma unroll
            for (int k = 0; k < half - 1; ++k)
                if (k < here) {
                    const Acc single = of_vectors<A, 1>(x + k);
                    one = has_vectors ? fold<F, A>(one, single) : single;
                    has_vectors = true;
                }
        }
    }
    return one;
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
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * GR_STRIPS_APART * sizeof(Acc)];
    __shared__ alignas(16) unsigned char raw_trees[GR_GENERAL_THREADS / 32 * sizeof(PieceTree<F>)];
    const gr_pieces &r = p.pieces;
    const unsigned lane_bits = r.lane_bits, lanes = 1u << lane_bits, share_bits = r.share_bits;
    const unsigned along = p.threads_along, at = threadIdx.x & (along - 1), lane = at & (lanes - 1);
    const auto strip_of = [&](unsigned thread) {
        return ((thread >> lane_bits) & ((1u << share_bits) - 1)) * r.each;
    };
    const unsigned first_strip = strip_of(at), last_first = strip_of((at | 31) & (along - 1));
    const unsigned warp = threadIdx.x / 32;
    const unsigned side_by_side = along >> (lane_bits + share_bits); // pieces of a row
    const uint64_t result = uint64_t(blockIdx.x) * (GR_GENERAL_THREADS / along) + threadIdx.x / along;
    const bool active = result < p.results;
    const uint64_t base = p.in + offsets(p.keep, active ? result : 0).in;
    const bool unaligned = p.flags & GR_UNALIGNED_ROWS;
    // Accumulators of strips: those of a piece are neighbours.
    Acc *const strips = reinterpret_cast<Acc *>(raw) +
                        ((threadIdx.x >> (lane_bits + share_bits) << share_bits) * r.each << lane_bits) +
                        lane;
    State whole = F::identity();
    pdl_begin(p);
    // Lanes of one warp may have several rows, but then these have one piece each.
    for (unsigned first = blockIdx.y * side_by_side; first < r.pieces; first += side_by_side * gridDim.y) {
        const unsigned piece = first + (at >> (lane_bits + share_bits));
        const uint64_t begin = piece * r.length, left = r.run - begin;
        const unsigned count = !active || piece >= r.pieces ? 0 : unsigned(left < r.length ? left : r.length);
        const unsigned vectors = count / Vec16<In>::length, singles = count % Vec16<In>::length;
        const uint64_t piece_at = base + begin * sizeof(In), apart = 16u << lane_bits;
        const int mine = lane < vectors ? int((vectors - lane - 1) >> lane_bits) + 1 : 0;
        uint64_t from = piece_at + 16 * uint64_t(lane) + first_strip * GR_STRIP_VECTORS * apart;
        // Strips of which all lanes of a warp have every vector: its last group has the fewest.
        const unsigned in_piece = vectors / GR_STRIP_VECTORS >> lane_bits;
        const unsigned whole_strips = in_piece > last_first ? min(in_piece - last_first, r.each) : 0;
        Acc acc = A::init();
        bool has_one = is_neutral<A>;
        const auto take = [&](unsigned k, const Acc &one) {
            if (share_bits > 0)
                strips[(first_strip + k) << lane_bits] = one;
            else
                acc = has_one ? fold<F, A>(acc, one) : one;
            has_one = true;
            from += GR_STRIP_VECTORS * apart;
        };
        unsigned k = 0;
        if (unaligned)
#pragma unroll 1
            for (; k < whole_strips; ++k)
                take(k, of_whole_strip<F, A, In, true>(from, apart));
        else
#pragma unroll 1
            for (; k < whole_strips; ++k)
                take(k, of_whole_strip<F, A, In, false>(from, apart));
#pragma unroll 1
        for (int here; k < r.each && (here = mine - int((first_strip + k) * GR_STRIP_VECTORS)) > 0; ++k)
            take(k, of_strip<F, A, In>(from, apart, here, unaligned));
        if (share_bits > 0) {
            __syncthreads();
            if (first_strip == 0 && mine > 0) {
                acc = strips[0];
                for (int k = 1; k * GR_STRIP_VECTORS < mine; ++k)
                    acc = fold<F, A>(acc, strips[k << lane_bits]);
            }
        }
        State x = A::to_state(acc);
        for (unsigned i = lane; i < singles; i += lanes)
            x = F::combine(x, F::load(reinterpret_cast<const In *>(piece_at)[count - singles + i], 0));
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
        if (lane == 0 && first_strip == 0)
            nodes[warp] = whole;
        __syncthreads();
        const unsigned behind = r.pieces - blockIdx.y * side_by_side;
        if (at == 0)
            for (unsigned k = 1; k < side_by_side && k < behind; ++k)
                whole = F::combine(whole, nodes[warp + (k << share_bits)]);
    }
    if (at == 0 && active)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, whole);
}

} // namespace gr::reduce
