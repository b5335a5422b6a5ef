// A deterministic look-back tree: the exclusive prefix of a tile from what the tiles before it have
// published. 32 nodes of a level make one of the level above. Tile t publishes its total at level 0 at once,
// and the node of each higher level whose last tile it is. Its prefix consists, at each level, of the number
// of nodes that the digit of t to base 32 says: the longest chain of waits has as many tiles as t has digits,
// and the order in which totals are combined depends on t alone. A node is a State in words of eight bytes,
// four of the State and a flag, so no fence is needed. Tiles are numbered by ticket: rule 1 of
// docs/contributing/waiting-for-blocks.md.
#pragma once

#include "grid/block_state.cuh"

namespace gr::grid {

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

enum { NODE_SHIFT = 5, NODE_LEVELS = 8 }; // base 32: a warp reads the nodes of one digit of a tile's number

// Where the nodes of a level begin, in nodes of a chain; gr_lookback_nodes counts them all.
inline __device__ uint64_t level_begin(uint64_t tiles, unsigned level) {
    uint64_t begin = 0;
    for (unsigned l = 0; l < level; ++l)
        begin += (tiles >> NODE_SHIFT * l) + 1;
    return begin;
}

} // namespace gr::grid
