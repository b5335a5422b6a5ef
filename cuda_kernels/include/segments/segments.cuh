// Segmented reduction in one pass, by merge path (S. Odeh et al., 2012; D. Merrill and M. Garland, 2016):
// rows and the ends of segments, merged, are cut into tiles of equal length, and a tile into equal parts for
// its threads, so neither long nor empty segments make more work for a thread. The part of a segment that
// ends in a later thread or tile is carried there by a scan whose order is fixed.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/lookback_tiles.cuh"
#include "segments/params.h"
#include "segments/values.cuh"

namespace gr::segments {

using namespace common;
using namespace grid;

enum { GR_PART_ENDS = 1, GR_PART_HOLDS = 2 }; // a segment ends in it; elements are behind the last end

// The partial result of a range of rows and ends: the State of the elements behind its last end.
template <class F> struct Segmented {
    struct State {
        typename F::State sum;
        uint32_t flags;
    };
    static __device__ State combine(State a, State b) {
        if (b.flags & GR_PART_ENDS)
            return b;
        if (!(a.flags & GR_PART_HOLDS))
            return {b.sum, a.flags | b.flags};
        return {b.flags & GR_PART_HOLDS ? F::combine(a.sum, b.sum) : a.sum, a.flags | b.flags};
    }
};

// A tile, of pieces that its block takes one after the other; thread 0 broadcasts it through shared memory.
struct SegmentTile {
    bool none;
    uint64_t t;      // its place in the chain
    uint64_t nodes;  // of the chain
    int64_t in, out; // of the line and stripe, in elements
    uint32_t width;
};
struct SegmentPiece {
    int64_t row;         // the first of its rows
    uint64_t segment;    // the first that ends in it or later
    int64_t begins;      // where that segment begins, counted from `row`
    uint32_t rows, ends; // how many it has
};

template <class F>
using SegmentLookback = LookbackTiles<Segmented<F>, GR_SEGMENT_THREADS, GR_SEGMENT_MAX_COLUMNS>;

template <class F> struct Segments : SegmentLookback<F> {
    using Held = typename F::Held;
    using Sum = typename F::State;
    using State = typename Segmented<F>::State;
    using SegmentLookback<F>::exclusive;
    using SegmentLookback<F>::columns;
    using SegmentLookback<F>::column;
    using SegmentLookback<F>::group;
    using SegmentLookback<F>::groups;
    static constexpr unsigned threads = GR_SEGMENT_THREADS, max_each = most_per_thread<F>;
    static constexpr unsigned capacity = threads * max_each;
    static constexpr unsigned held_bytes = (capacity + capacity / 32) * sizeof(Held);
    static constexpr unsigned all_states = SegmentLookback<F>::state_count + GR_SEGMENT_MAX_COLUMNS;
    static_assert(held_bytes >= NODE_LEVELS * GR_SEGMENT_MAX_COLUMNS * sizeof(State),
                  "sums of nodes take the place of elements");

    const gr_segment_params &p;
    const SegmentValues<F, gr_segment_params> values;
    Held *held; // elements, from the front on; ends from the back on
    unsigned char *held_end;
    State *carried; // what the tile's pieces so far leave in each column
    const int64_t *offsets;

    __device__ Segments(const gr_segment_params &params, unsigned char *elements, unsigned char *states)
        : SegmentLookback<F>(states, params.columns_shift, params.groups_shift), p(params), values{{params}},
          held(reinterpret_cast<Held *>(elements)), held_end(elements + held_bytes),
          carried(exclusive + GR_SEGMENT_MAX_COLUMNS), offsets(reinterpret_cast<const int64_t *>(p.offsets)) {
    }

    __device__ SegmentTile take(uint64_t round) const {
        SegmentTile tile;
        const uint64_t number = p.nodes != 0
                                    ? atomicAdd(reinterpret_cast<unsigned long long *>(p.nodes), 1ull)
                                    : blockIdx.x + round * gridDim.x;
        tile.none = number >= p.chains * p.chain_tiles;
        if (tile.none)
            return tile;
        tile.t = number / p.chains;
        const uint64_t chain = number - tile.t * p.chains, line = chain / p.stripes;
        const uint64_t across = (chain - line * p.stripes) * p.width;
        tile.nodes =
            p.nodes + GR_SEGMENT_NODES_OFFSET + chain * p.chain_nodes * columns * SegmentLookback<F>::node;
        tile.in = int64_t(line) * p.line_stride + int64_t(across) * p.inner_stride;
        tile.out = int64_t(line * p.segments * p.inner + across);
        tile.width = min(uint64_t(p.width), p.inner - across);
        return tile;
    }
    // Offsets on a device are as the caller made them; whatever they are, no row outside of the array is
    // read.
    __device__ SegmentPiece piece_of(uint64_t number) const {
        SegmentPiece piece;
        const int64_t base = max(int64_t(0), min(offsets[0], int64_t(p.rows)));
        const uint64_t total = max(int64_t(0), min(offsets[p.segments], int64_t(p.rows)) - base);
        const uint64_t items = uint64_t(groups) * p.each, all = total + p.segments;
        const uint64_t from = min(number * items, all), to = min(from + items, all);
        uint64_t begin = 0, end = p.segments;
        if (p.starts != 0 && number < p.chain_pieces) {
            const uint64_t *starts = reinterpret_cast<const uint64_t *>(p.starts) + number;
            begin = starts[0];
            end = starts[1];
        }
        piece.segment = begin;
        piece.ends = min(max(begin, end) - begin, to - from);
        const uint64_t first = min(from - min(from, begin), total);
        piece.rows = min(to - from - piece.ends, total - first);
        piece.row = base + int64_t(first);
        piece.begins = begin < p.segments ? offsets[begin] - piece.row : 0;
        return piece;
    }

    __device__ uint32_t *ends_of(const SegmentPiece &piece) const {
        return reinterpret_cast<uint32_t *>(held_end) - piece.ends;
    }
    // Which row of the elements it is.
    __device__ int64_t row_of(int64_t row) const {
        return p.permutation != 0 ? offsets[p.permutation + row] : row;
    }

    template <class In> __device__ void load_as(const SegmentTile &tile, const SegmentPiece &piece) {
        const In *in = reinterpret_cast<const In *>(p.in) + tile.in;
        const unsigned across = columns, step = threads / across;
        if (p.flags & GR_SEGMENT_LINEAR) {
            in += piece.row * int64_t(p.width);
#pragma unroll 4
            for (unsigned k = 0; k < max_each; ++k) {
                const unsigned i = threadIdx.x + k * threads;
                if (i < piece.rows * p.width)
                    held[padded(i)] = values.value_of(in[i]);
            }
            return;
        }
        if (column >= tile.width)
            return;
        in += column * p.inner_stride;
#pragma unroll 8
        for (unsigned row = threadIdx.x / across; row < piece.rows; row += step)
            held[padded(row * p.width + column)] =
                values.value_of(in[row_of(piece.row + row) * p.along_stride]);
    }
    __device__ void load(const SegmentTile &tile, const SegmentPiece &piece) {
        uint32_t *ends = ends_of(piece);
        for (unsigned j = threadIdx.x; j < piece.ends; j += threads) {
            const int64_t end = offsets[piece.segment + 1 + j] - piece.row;
            ends[j] = uint32_t(max(int64_t(0), min(end, int64_t(piece.rows))));
        }
        values.of_elements([&](auto x) { load_as<decltype(x)>(tile, piece); });
        __syncthreads();
    }

    // Writes the result of a segment, of `count` elements.
    __device__ void put(const SegmentTile &tile, uint64_t segment, Sum sum, int64_t count) const {
        if (column >= tile.width)
            return;
        const uint64_t result = tile.out + segment * p.inner + column;
        if constexpr (is_exact_sum<F>) {
            if (p.counts != 0 && count > 0)
                return values.put_exact(result, sum, reinterpret_cast<const int64_t *>(p.counts)[result]);
        } else if constexpr (can_skip<F> && std::is_same<Sum, Held>::value) {
            // Of elements that are all skipped, the extreme is NaN.
            if (p.counts != 0 && reinterpret_cast<const int64_t *>(p.counts)[result] == 0)
                sum = nan_of(sum);
        }
        values.put(result, sum, count, F::places && count > 0 ? row_of(F::place(sum)) : 0);
    }

    // The thread's elements of a piece, side by side with those of others. All are loaded, those behind the
    // last row from there: ptxas keeps what a load with a condition would leave, and waits for each.
    template <class In>
    __device__ void elements_as(const SegmentTile &tile, const SegmentPiece &piece, Held *x) const {
        const In *in = reinterpret_cast<const In *>(p.in) + tile.in + piece.row;
        In loaded[max_each];
#pragma unroll
        for (unsigned k = 0; k < max_each; ++k)
            loaded[k] = in[min(threadIdx.x + k * threads, piece.rows - 1)];
#pragma unroll
        for (unsigned k = 0; k < max_each; ++k)
            x[k] = values.value_of(loaded[k]);
    }
    // Adds a piece in which no segment ends, with elements side by side, to what the thread has.
    __device__ void add(const SegmentTile &tile, const SegmentPiece &piece, State &part) const {
        if (piece.rows == 0)
            return;
        Held x[max_each];
        values.of_elements([&](auto in) {
            if constexpr (!streamed<F, decltype(in)>)
                elements_as<decltype(in)>(tile, piece, x);
        });
#pragma unroll
        for (unsigned k = 0; k < max_each; ++k)
            if (const unsigned row = threadIdx.x + k * threads; row < piece.rows) {
                part.sum = part.flags != 0 ? append<F>(part.sum, x[k], piece.row + row)
                                           : F::load(x[k], piece.row + row);
                part.flags = GR_PART_HOLDS;
            }
    }

    // How many ends are among the first `items` rows and ends of the tile.
    static __device__ unsigned split(const uint32_t *ends, const SegmentPiece &piece, unsigned items) {
        unsigned low = items - min(items, piece.rows), high = min(items, piece.ends);
        while (low < high) {
            const unsigned middle = (low + high) / 2;
            if (ends[middle] < items - middle)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    // The first segment that ends in a thread's share, which earlier threads and tiles have a part in.
    struct First {
        bool is = false;
        uint64_t segment;
        int64_t count;
        State part;
    };
    __device__ State go(const SegmentTile &tile, const SegmentPiece &piece, First &first) const {
        const uint32_t *ends = ends_of(piece);
        const unsigned begin = min(group * p.each, piece.rows + piece.ends);
        const unsigned mine = column < tile.width ? min(p.each, piece.rows + piece.ends - begin) : 0;
        unsigned j = split(ends, piece, begin), i = begin - j;
        unsigned end = j < piece.ends ? ends[j] : ~0u;
        State part;
        part.flags = 0;
#pragma unroll 1
        for (unsigned k = 0; k < mine; ++k) {
            if (i >= end) {
                const int64_t count = end - (j > 0 ? int64_t(ends[j - 1]) : piece.begins);
                if (part.flags & GR_PART_ENDS)
                    put(tile, piece.segment + j, part.sum, count);
                else
                    first = {true, piece.segment + j, count, part};
                part.flags = GR_PART_ENDS;
                ++j;
                end = j < piece.ends ? ends[j] : ~0u;
            } else if (i < piece.rows) {
                const Held x = held[padded(i * p.width + column)];
                part.sum = part.flags & GR_PART_HOLDS ? append<F>(part.sum, x, piece.row + i)
                                                      : F::load(x, piece.row + i);
                part.flags |= GR_PART_HOLDS;
                ++i;
            }
        }
        return part;
    }

    // Appends the threads' open segments to the open segment of the tile so far.
    __device__ void publish_part(State part) {
        this->before(part);
        if (group == groups - 1)
            carried[column] = Segmented<F>::combine(carried[column], part);
    }

    // A piece in which segments end, or whose elements are not contiguous. Gives the first segment that
    // ends in the thread's share; in `late`, if the tiles before have a part in it.
    __device__ First merge(const SegmentTile &tile, const SegmentPiece &piece, First &late) {
        First first;
        load(tile, piece);
        State part = go(tile, piece, first), own = this->before(part), carry = carried[column];
        if (group > 0)
            carry = Segmented<F>::combine(carry, own);
        first.part = Segmented<F>::combine(carry, first.part);
        if (first.is && tile.t > 0 && !(carry.flags & GR_PART_ENDS)) {
            late = first;
            first.is = false;
        }
        __syncthreads();
        if (group == groups - 1)
            carried[column] = Segmented<F>::combine(carried[column], part);
        return first;
    }

    __device__ void run(const SegmentTile &tile, const SegmentPiece *pieces) {
        State open; // what the thread has of pieces within a segment
        First ended, late;
        bool pending = false; // that it is not handed over; the same in all threads
        open.flags = 0;
        if (threadIdx.x < columns)
            carried[threadIdx.x] = {Sum(), 0};
        for (unsigned i = 0;; ++i) {
            const bool within =
                i < p.pieces && pieces[i].ends == 0 && p.flags & GR_SEGMENT_LINEAR && p.width == 1;
            if (within) {
                add(tile, pieces[i], open);
                pending = true;
                continue;
            }
            if (pending)
                publish_part(open);
            pending = false;
            open.flags = 0;
            if (i < p.pieces) {
                ended = merge(tile, pieces[i], late);
            } else if (p.nodes != 0) {
                __syncthreads();
                this->look_back({tile.nodes, p.chain_tiles}, tile.t, tile.width, carried[column],
                                reinterpret_cast<State *>(held));
                ended = late;
                if (ended.is)
                    ended.part = Segmented<F>::combine(exclusive[column], ended.part);
            }
            if (ended.is)
                put(tile, ended.segment, ended.part.sum, ended.count);
            ended.is = false;
            if (i >= p.pieces)
                return;
        }
    }
};

template <class F> __device__ void reduce_segments(const gr_segment_params &p) {
    __shared__ alignas(16) unsigned char elements[Segments<F>::held_bytes];
    __shared__ alignas(
        16) unsigned char states[Segments<F>::all_states * sizeof(typename Segments<F>::State)];
    __shared__ SegmentTile tile;
    __shared__ SegmentPiece pieces[GR_SEGMENT_MAX_PIECES];
    Segments<F> segments(p, elements, states);
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    for (uint64_t round = 0;; ++round) {
        if (threadIdx.x == 0)
            tile = segments.take(round);
        __syncthreads();
        if (tile.none)
            return;
        if (threadIdx.x < p.pieces)
            pieces[threadIdx.x] = segments.piece_of(tile.t * p.pieces + threadIdx.x);
        __syncthreads();
        segments.run(tile, pieces);
        __syncthreads();
    }
}

#define GR_SEGMENT_ENTRY(op, kind, ...)                                                                      \
    GR_ENTRY((GR_SEGMENT_THREADS, GR_SEGMENT_BLOCKS_PER_SM), segment_##op##_##kind, gr_segment_params,       \
             reduce_segments<__VA_ARGS__>)
#define GR_SEGMENT_ENTRIES(op, F)                                                                            \
    GR_SEGMENT_ENTRY(op, real, F<double>)                                                                    \
    GR_SEGMENT_ENTRY(op, whole, F<int64_t>)                                                                  \
    GR_SEGMENT_ENTRY(op, pair, F<ComplexParts<double>>)

} // namespace gr::segments
