// general_pieces: results of contiguous elements, in an order that follows from their number alone. A result
// is cut into pieces of GR_PIECE_BYTES; a thread takes up to GR_PIECE_VECTORS vectors of a piece, which are
// in flight while the block combines the piece before. Blocks take piece after piece.
#pragma once

#include "reduce/general/general.cuh"
#include "reduce/general/pieces/params.h"

namespace gr::reduce {

// The vector at the address of an element.
template <class In, bool Aligned> __device__ Vec16<In> vec16_at(uint64_t from) {
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

// What a thread has in flight of a piece: every lanes-th vector, and one of the elements behind the vectors.
template <class In> struct PieceLoads {
    static constexpr unsigned vectors = GR_PIECE_VECTORS;
    Vec16<In> vector[vectors];
    In rest;
    unsigned there, rests; // vectors; elements behind them, 0 or 1

    template <bool Aligned>
    __device__ void load(uint64_t from, unsigned count, unsigned lane, unsigned lanes) {
        constexpr unsigned width = Vec16<In>::length;
        const unsigned chunks = count / width;
        there = lane < chunks ? (chunks - lane + lanes - 1) / lanes : 0;
        rests = lane < count % width;
#pragma unroll
        for (unsigned k = 0; k < vectors; ++k)
            if (k < there)
                vector[k] = vec16_at<In, Aligned>(from + 16 * uint64_t(lane + k * lanes));
        if (rests)
            rest = reinterpret_cast<const In *>(from)[chunks * width + lane];
    }
    template <class F, class A> __device__ typename F::State state() const {
        typename A::Acc acc = A::init();
        if (there == vectors) {
            A::template accumulate<vectors>(acc, vector, 0, 0);
        } else {
#pragma unroll
            for (unsigned k = 0; k + 1 < vectors; ++k)
                if (k < there)
                    A::template accumulate<1>(acc, vector + k, 0, 0);
        }
        const typename F::State x = A::to_state(acc);
        return rests ? F::combine(x, F::load(rest, 0)) : x;
    }
};

// The States of `lanes` neighbouring threads, a power of two, into the State of the first. Calls in turn have
// slots of their own, so that one barrier is enough.
template <class F>
__device__ typename F::State combine_piece(typename F::State *slots, typename F::State x, unsigned lanes) {
    const unsigned warp = threadIdx.x / 32, width = lanes < 32 ? lanes : 32;
    for (unsigned offset = width / 2; offset > 0; offset /= 2)
        x = F::combine(x, shuffle_down(x, offset, width));
    if (lanes <= 32)
        return x;
    if (threadIdx.x % 32 == 0)
        slots[warp] = x;
    __syncthreads();
    if (threadIdx.x % lanes == 0)
        for (unsigned other = 1; other < lanes / 32; ++other)
            x = F::combine(x, slots[warp + other]);
    return x;
}

// The piece that a block takes, of a group of results that its threads share: one result if it has several
// pieces.
struct PieceAt {
    uint64_t group;
    unsigned piece;

    __device__ explicit PieceAt(const gr_general_params &p) : group(blockIdx.x), piece(0) {
        if (p.parts > 1) {
            group = blockIdx.x / unsigned(p.rows.pieces);
            piece = blockIdx.x % unsigned(p.rows.pieces);
        }
    }
    __device__ void next(const gr_general_params &p) {
        const unsigned pieces = unsigned(p.rows.pieces);
        if (p.parts > 1) { // pieces have States of their own, and go to any block
            piece += gridDim.x % pieces;
            group += gridDim.x / pieces + (piece >= pieces);
            piece -= piece >= pieces ? pieces : 0;
        } else if (++piece == pieces) {
            piece = 0;
            group += gridDim.x;
        }
    }
};

// Combines the States of the pieces of a result as general_last does, by one thread.
template <class F> struct PieceTree {
    typename F::State slots[GR_PIECE_SLOTS];

    __device__ void add(unsigned piece, unsigned along, typename F::State x) {
        typename F::State &slot = slots[piece % along];
        slot = F::combine(piece < along ? F::identity() : slot, x);
    }
    __device__ typename F::State all(unsigned along) {
        for (unsigned half = along / 2; half > 0; half /= 2)
            for (unsigned i = 0; i < half; ++i)
                slots[i] = F::combine(slots[i], slots[i + half]);
        return slots[0];
    }
};

template <class F, class A, class In, bool Aligned>
__device__ void reduce_pieces_of(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[2 * GR_GENERAL_THREADS / 32 * sizeof(State)];
    __shared__ alignas(16) unsigned char raw_tree[sizeof(PieceTree<F>)];
    State *const slots = reinterpret_cast<State *>(raw);
    PieceTree<F> &tree = *reinterpret_cast<PieceTree<F> *>(raw_tree);
    const gr_rows &r = p.rows;
    const unsigned lanes = r.lanes, lane = threadIdx.x % lanes, side_by_side = GR_GENERAL_THREADS / lanes;
    const uint64_t groups = (p.results + side_by_side - 1) / side_by_side;
    const auto load = [&](PieceLoads<In> &loads, const PieceAt &at) {
        const uint64_t row = at.group * side_by_side + threadIdx.x / lanes, begin = at.piece * r.segment;
        const uint64_t left = r.run - begin;
        const unsigned count = unsigned(left < r.segment ? left : r.segment);
        const bool active = row < p.results;
        loads.template load<Aligned>(p.in + offsets(p.keep, active ? row : 0).in + begin * sizeof(In),
                                     active ? count : 0, lane, lanes);
    };
    pdl_begin(p);
    PieceAt at(p);
    PieceLoads<In> now;
    if (at.group < groups)
        load(now, at);
    for (unsigned turn = 0; at.group < groups; turn ^= 1) {
        PieceAt then = at;
        then.next(p);
        PieceLoads<In> next;
        if (then.group < groups)
            load(next, then);
        else
            pdl_as_comments::pdl_launch_dependents();
        const State x =
            combine_piece<F>(slots + turn * (GR_GENERAL_THREADS / 32), now.template state<F, A>(), lanes);
        const uint64_t row = at.group * side_by_side + threadIdx.x / lanes;
        if (lane == 0 && row < p.results) {
            if (r.pieces == 1 || p.parts > 1) {
                put<F>(p, at.piece * p.results + row, x);
            } else {
                tree.add(at.piece, p.threads_along, x);
                if (at.piece + 1 == r.pieces)
                    put<F>(p, row, tree.all(p.threads_along));
            }
        }
        now = next;
        at = then;
    }
}

template <class F, class A, class In> __device__ void reduce_pieces(const gr_general_params &p) {
    if (p.flags & GR_UNALIGNED_ROWS)
        reduce_pieces_of<F, A, In, false>(p);
    else
        reduce_pieces_of<F, A, In, true>(p);
}

} // namespace gr::reduce
