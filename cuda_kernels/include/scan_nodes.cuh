// Nodes of scans that a thread looks at once, or clears; those of prefix_tree.cuh otherwise.
#pragma once

#include "scan.cuh"

// Looks at a node once.
template <class State> __device__ bool node_there(uint64_t node, State &x) {
    Words<State> words;
    bool there = true;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        uint64_t low, high;
        load_words(node + 8 * i, low, high);
        there = there && low >> 32 != 0 && high >> 32 != 0;
        words.word[i] = uint32_t(low);
        if (i + 1 < Words<State>::count)
            words.word[i + 1] = uint32_t(high);
    }
    x = words.state;
    return there;
}

template <class State> __device__ void node_clear(uint64_t node) {
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2)
        clear_words(node + 8 * i);
}
