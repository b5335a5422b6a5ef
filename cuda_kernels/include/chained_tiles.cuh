// Tiles of rows and columns whose States of columns are scanned: among the threads of a block, which share a
// column in groups, and along a chain of tiles.
#pragma once

#include "prefix_tree.cuh"

// One word is left out every 32 elements, so that threads which go along lines meet in few banks.
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

// A thread of a block of `threads`: 2^columns_shift side by side take columns, 2^groups_shift times that
// share a slot of rows. F has a State, an associative combine, and closed(State): whether what is before it
// makes no difference to it.
template <class F, unsigned threads, unsigned most_columns> struct ChainedTiles {
    using State = typename F::State;
    static constexpr unsigned state_count = threads + most_columns;
    static constexpr unsigned node = node_bytes<State>;

    State *totals; // of the warps' columns
    State *ahead;  // what is before the tile in each column
    unsigned columns, groups, column, group;

    __device__ ChainedTiles(unsigned char *states, unsigned columns_shift, unsigned groups_shift)
        : totals(reinterpret_cast<State *>(states)), ahead(totals + threads), columns(1u << columns_shift),
          groups(1u << groups_shift), column(threadIdx.x & (columns - 1)),
          group(threadIdx.x >> columns_shift & (groups - 1)) {
    }

    // What stands in the slot before the elements of this thread, if its group has any before it; in `s` what
    // stands up to their end. Has a barrier.
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
        // The warps that have the earlier groups of these columns.
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

    // Waits for the nodes of the bits of `t` from `begin` on to before `end`.
    __device__ void wait_for(uint64_t nodes, uint64_t t, unsigned width, unsigned begin, unsigned end,
                             State *found) const {
        for (unsigned i = begin * columns + threadIdx.x; i < end * columns; i += threads) {
            const unsigned bit = i / columns;
            if (t >> bit & 1 && column < width)
                node_get(nodes + (node_of_bit(t, bit) * columns + column) * node, &found[i]);
        }
        __syncthreads();
    }

    // Publishes what tile `t` of a chain holds, `whole` in the threads of the last group, and leaves in
    // `ahead` what is before it in each of `width` columns. `nodes` are those of the chain; `found` is shared
    // memory for 32 States a column, which nobody uses. Begins and ends with a barrier.
    //
    // It is published before anything is waited for that is no part of it: else each tile would wait for the
    // one before it.
    __device__ void look_back(uint64_t nodes, uint64_t t, unsigned width, State whole, State *found) {
        const unsigned ones = __ffsll(~t) - 1; // bits whose nodes are part of what it publishes
        const bool first = threadIdx.x < width;
        const uint64_t own = nodes + (t * columns + column) * node;
        if (group == groups - 1 && column < width) {
            if (ones == 0 || F::closed(whole))
                node_put(own, whole);
            ahead[column] = whole;
        }
        State sum;
        if (ones > 0) {
            wait_for(nodes, t, width, 0, ones, found);
            if (first) {
                sum = found[column];
                for (unsigned bit = 1; bit < ones; ++bit)
                    sum = F::combine(found[bit * columns + column], sum);
                if (!F::closed(ahead[column]))
                    node_put(own, F::combine(sum, ahead[column]));
            }
        }
        const unsigned bits = 64 - __clzll(t);
        wait_for(nodes, t, width, ones, bits, found);
        if (first && t > 0) {
            bool has = ones > 0;
            for (unsigned bit = ones; bit < bits; ++bit)
                if (t >> bit & 1) {
                    sum =
                        has ? F::combine(found[bit * columns + column], sum) : found[bit * columns + column];
                    has = true;
                }
            ahead[column] = sum;
        }
        __syncthreads();
    }
};
