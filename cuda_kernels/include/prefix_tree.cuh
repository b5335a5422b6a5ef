// What stands before a tile, from what the tiles before it have published: a Fenwick tree of nodes.
// Tile t publishes what the last 2^k tiles up to it hold, k being the trailing ones of t, so that the set
// bits of t name the nodes that are all before it: the deepest wait is for log2(tiles) tiles, one behind the
// other, and what is combined with what depends on t alone. A node is a State in words of eight bytes, four
// of it and a mark that they are there, so that no fence is needed. Tiles are begun in the order of their
// tickets: a tile waits only for tiles that have begun.
#pragma once

#include "block_state.cuh"

template <class State> constexpr unsigned node_bytes = (Words<State>::count + 1) / 2 * 16;

template <class State> __device__ void node_put(uint64_t node, State x, uint32_t mark = 1) {
    Words<State> words;
    words.state = x;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        const uint64_t upper = uint64_t(mark) << 32;
        const uint64_t low = upper | words.word[i];
        const uint64_t high = upper | (i + 1 < Words<State>::count ? words.word[i + 1] : 0);
        asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(node + 8 * i), "l"(low), "l"(high)
                     : "memory");
    }
}

// Waits for a node; gives its mark.
template <class State> __device__ uint32_t node_get(uint64_t node, State *out) {
    Words<State> words;
    uint32_t mark = 0;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        uint64_t low, high;
        do {
            asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                         : "=l"(low), "=l"(high)
                         : "l"(node + 8 * i)
                         : "memory");
        } while (low >> 32 == 0 || high >> 32 == 0);
        words.word[i] = uint32_t(low);
        if (i + 1 < Words<State>::count)
            words.word[i + 1] = uint32_t(high);
        mark = uint32_t(low >> 32);
    }
    *out = words.state;
    return mark;
}

// The tile that publishes the node of a set bit of t.
inline __device__ uint64_t node_of_bit(uint64_t t, unsigned bit) {
    return (t >> bit << bit) - 1;
}
