// Nodes of the look-back tree that a thread polls once or clears, for scans that wait for several nodes at a
// time. lookback_tree.cuh has the waits for one node.
#pragma once

#include "scan/scan.cuh"

namespace gr::scan {

// Polls a node once.
template <class State> __device__ bool node_poll(uint64_t node, State &x) {
    Words<State> words;
    bool there = true;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        uint64_t low, high;
        load_flagged(node + 8 * i, low, high);
        there = there && low >> 32 != 0 && high >> 32 != 0;
        words.word[i] = uint32_t(low);
        if (i + 1 < Words<State>::count)
            words.word[i + 1] = uint32_t(high);
    }
    x = words.state;
    return there;
}

// A poll of a node without a branch, so that several are in flight at once.
template <class State> struct NodePoll {
    static constexpr unsigned count = Words<State>::count;
    uint64_t words[(count + 1) / 2 * 2];

    // Sees nothing unless `wanted`.
    __device__ void look(uint64_t node, bool wanted) {
#pragma unroll
        for (unsigned i = 0; i < count; i += 2)
            asm volatile("{\n\t"
                         ".reg .pred wanted;\n\t"
                         "setp.ne.u32 wanted, %3, 0;\n\t"
                         "mov.b64 %0, 0;\n\t"
                         "mov.b64 %1, 0;\n\t"
                         "@wanted ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];\n\t"
                         "}"
                         : "=&l"(words[i]), "=&l"(words[i + 1])
                         : "l"(node + 8 * i), "r"(uint32_t(wanted))
                         : "memory");
    }
    // Sets x if the node was published.
    __device__ bool take(State &x) const {
        Words<State> seen;
        bool there = true;
#pragma unroll
        for (unsigned i = 0; i < count; i += 2) {
            there = there && words[i] >> 32 != 0 && words[i + 1] >> 32 != 0;
            seen.word[i] = uint32_t(words[i]);
            if (i + 1 < count)
                seen.word[i + 1] = uint32_t(words[i + 1]);
        }
        if (there)
            x = seen.state;
        return there;
    }
};

template <class State> __device__ void node_clear(uint64_t node) {
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2)
        clear_flagged(node + 8 * i);
}

} // namespace gr::scan
