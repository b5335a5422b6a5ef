// Decoupled look-back (D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016) for tiles of rows and columns: a block scans the States of the columns of its tile,
// publishes their totals, and computes the exclusive prefix of the tile from those of the tiles before it.
#pragma once

#include "grid/lookback_tree.cuh"

namespace gr::grid {

// One word of padding every 32 elements, so that threads that go along lines have few bank conflicts.
inline __device__ unsigned padded(unsigned i) {
    return i + i / 32;
}

template <class T> __device__ T shuffle_up(T x, unsigned offset) {
    Words<T> words;
    words.state = x;
#pragma unroll
    for (unsigned i = 0; i < Words<T>::count; ++i)
        words.word[i] = __shfl_up_sync(0xffffffffu, words.word[i], offset);
    return words.state;
}

// The address of the nodes of a line of tiles, and the number of its tiles.
struct LookbackTree {
    uint64_t nodes, tiles;
};

// A thread in a block of `threads`: 2^columns_shift neighbouring threads have one column each, and
// 2^groups_shift such groups share a slot of rows. F has a State and an associative combine.
template <class F, unsigned threads, unsigned max_columns> struct LookbackTiles {
    using State = typename F::State;
    static constexpr unsigned state_count = threads + max_columns;
    static constexpr unsigned node = node_bytes<State>;

    State *totals;    // totals of the columns of each warp
    State *exclusive; // exclusive prefix of the tile, for each column
    unsigned columns, groups, column, group;

    __device__ LookbackTiles(unsigned char *states, unsigned columns_shift, unsigned groups_shift)
        : totals(reinterpret_cast<State *>(states)), exclusive(totals + threads),
          columns(1u << columns_shift), groups(1u << groups_shift), column(threadIdx.x & (columns - 1)),
          group(threadIdx.x >> columns_shift & (groups - 1)) {
    }

    // Returns the exclusive prefix of this thread's elements in their slot, valid unless its group is the
    // first; `s` becomes the inclusive one. Has a barrier.
    __device__ State before(State &s) const {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, size = groups * columns;
        for (unsigned step = columns; step < 32 && step < size; step *= 2) {
            const State other = shuffle_up(s, step);
            if (lane >= step && group * columns >= step)
                s = F::combine(other, s);
        }
        State mine = columns < 32 ? shuffle_up(s, columns) : s;
        const unsigned place = columns < 32 ? column : lane;
        if (columns >= 32 || lane >= 32 - columns)
            totals[warp * 32 + place] = s;
        __syncthreads();
        if (size <= 32)
            return mine;
        // The warps with the earlier groups of these columns.
        const unsigned step = columns > 32 ? columns / 32 : 1;
        const unsigned from = (warp & ~(size / 32 - 1)) | (warp & (step - 1));
        if (from == warp)
            return mine;
        State carry = totals[from * 32 + place];
        for (unsigned w = from + step; w < warp; w += step)
            carry = F::combine(carry, totals[w * 32 + place]);
        mine = columns < 32 && lane >= columns ? F::combine(carry, mine) : carry;
        s = F::combine(carry, s);
        return mine;
    }

    __device__ uint64_t node_at(const LookbackTree &chain, unsigned level, uint64_t i, unsigned of) const {
        return chain.nodes + ((level_begin(chain.tiles, level) + i) * columns + of) * node;
    }

    // The combined nodes of one level before tile `t` in a column, of which there is at least one; computed
    // by a warp, valid in lane 0.
    __device__ State fold(const LookbackTree &chain, uint64_t t, unsigned level, unsigned of) const {
        const uint64_t at = t >> NODE_SHIFT * level;
        const unsigned lane = threadIdx.x % 32, count = at % 32;
        State x;
        if (lane < count)
            x = node_wait<State>(node_at(chain, level, at - count + lane, of));
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const State behind = shuffle_down(x, step);
            if (lane % (2 * step) == 0 && lane + step < count)
                x = F::combine(x, behind);
        }
        return x;
    }

    // Look-back: publishes the total of tile `t`, which the threads of the last group have in `whole`, and
    // computes in `exclusive` the exclusive prefix of the tile for each of `width` columns. `sums` is shared
    // memory for NODE_LEVELS States per column, otherwise unused. Tile 0 has no prefix. Ends with a barrier.
    __device__ void look_back(const LookbackTree &chain, uint64_t t, unsigned width, State whole,
                              State *sums) const {
        if (group == groups - 1 && column < width) {
            node_publish(node_at(chain, 0, t, column), whole);
            exclusive[column] = whole;
        }
        __syncthreads();
        unsigned levels = 0;
        while (t >> NODE_SHIFT * levels != 0)
            ++levels;
        for (unsigned i = threadIdx.x / 32; i < levels * width; i += threads / 32) {
            const unsigned level = i / width, of = i - level * width;
            if ((t >> NODE_SHIFT * level) % 32 == 0)
                continue;
            const State sum = fold(chain, t, level, of);
            if (threadIdx.x % 32 == 0) {
                sums[level * columns + of] = sum;
                if (level == 0 && t % 32 == 31)
                    node_publish(node_at(chain, 1, t / 32, of), F::combine(sum, exclusive[of]));
            }
        }
        __syncthreads();
        if (threadIdx.x < width && t > 0) {
            State own = exclusive[column], sum = own;
            bool last = true,
                 has = false; // the last tile of a node of the level above; something is before it
            for (unsigned level = 0; level < levels; ++level) {
                const unsigned digit = (t >> NODE_SHIFT * level) % 32;
                const State one = sums[level * columns + column];
                last = last && digit == 31;
                if (last) {
                    own = F::combine(one, own);
                    if (level > 0)
                        node_publish(node_at(chain, level + 1, t >> NODE_SHIFT * (level + 1), column), own);
                }
                if (digit > 0) {
                    sum = has ? F::combine(one, sum) : one;
                    has = true;
                }
            }
            exclusive[column] = sum;
        }
        __syncthreads();
    }
};

} // namespace gr::grid
