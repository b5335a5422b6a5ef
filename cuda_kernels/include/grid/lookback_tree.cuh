// What stands before a tile, from what the tiles before it have published: a tree of nodes, 32 of which make
// one of the level above. Tile t publishes what it holds at level 0 at once, and if it is the last of a node
// of a higher level, that, too. What is before it are then, of each level, as many nodes as the digit of t to
// the base 32 says: the deepest wait is for as many tiles one behind the other as t has digits, and what is
// combined with what depends on t alone. A node is a State in words of eight bytes, four of it and a mark
// that they are there, so that no fence is needed. Tiles are begun in the order of their tickets: a tile
// waits only for tiles that have begun.
#pragma once

#include "grid/block_state.cuh"

template <class State> constexpr unsigned node_bytes = (Words<State>::count + 1) / 2 * 16;

template <class State> __device__ void node_publish(uint64_t node, State x) {
    publish_words(x, [&](unsigned i) { return node + 8 * i; });
}

// Waits for a node.
template <class State> __device__ State node_wait(uint64_t node) {
    Words<State> words;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        uint64_t low, high;
        do {
            load_flagged(node + 8 * i, low, high);
        } while (low >> 32 == 0 || high >> 32 == 0);
        words.word[i] = uint32_t(low);
        if (i + 1 < Words<State>::count)
            words.word[i + 1] = uint32_t(high);
    }
    return words.state;
}

enum { NODE_SHIFT = 5, NODE_LEVELS = 8 }; // digits of a tile's number: a warp reads the nodes of one

// Where the nodes of a level begin, in nodes of a chain; gr_lookback_nodes counts them all.
inline __device__ uint64_t level_begin(uint64_t tiles, unsigned level) {
    uint64_t begin = 0;
    for (unsigned l = 0; l < level; ++l)
        begin += (tiles >> NODE_SHIFT * l) + 1;
    return begin;
}
