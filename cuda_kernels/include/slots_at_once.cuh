// Takes a State out of a slot, as slot_take, but asks for all of its words at once.
#pragma once

#include "block_state.cuh"

template <class State> __device__ State take_at_once(uint64_t slots, unsigned block) {
    constexpr unsigned pairs = (Words<State>::count + 1) / 2;
    Words<State> words;
    uint64_t low[pairs], high[pairs], there;
    do {
        there = ~uint64_t(0);
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i)
            load_words(slot_at(slots, block, 2 * i), low[i], high[i]);
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i)
            there &= low[i] & high[i];
    } while (there >> 32 == 0);
#pragma unroll
    for (unsigned i = 0; i < pairs; ++i) {
        clear_words(slot_at(slots, block, 2 * i));
        words.word[2 * i] = uint32_t(low[i]);
        if (2 * i + 1 < Words<State>::count)
            words.word[2 * i + 1] = uint32_t(high[i]);
    }
    return words.state;
}
