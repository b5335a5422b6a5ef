// Partial results (States) between the lanes of a warp, the warps of a block and the blocks of a grid:
// shuffles, the reduction of a block, and slots in global memory through which a block publishes its State
// with a flag.
#pragma once

#include <cstdint>

#include "reduce/flat/params.h"

#include "grid/publish.cuh"

namespace gr::grid {

enum { GR_STATE_WORDS = GR_FLAT_SLOT_BYTES / 8 };

// A State as 32-bit words.
template <class State> union Words {
    static constexpr unsigned count = sizeof(State) / 4;
    static_assert(sizeof(State) % 4 == 0 && count <= GR_STATE_WORDS, "see GR_FLAT_SLOT_BYTES");
    State state;
    uint32_t word[count];
    __device__ Words() {
    }
};

template <class State> __device__ State shuffle_down(State x, unsigned offset, unsigned width = 32) {
    Words<State> words;
    words.state = x;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; ++i)
        words.word[i] = __shfl_down_sync(0xffffffffu, words.word[i], offset, width);
    return words.state;
}

template <class T> __device__ T shuffle_from(T x, unsigned lane) {
    Words<T> words;
    words.state = x;
#pragma unroll
    for (unsigned i = 0; i < Words<T>::count; ++i)
        words.word[i] = __shfl_sync(0xffffffffu, words.word[i], lane);
    return words.state;
}

// Reduces the States of a warp's first `lanes` lanes, the only ones that count, into lane 0. A functor may
// have a reduce_warp of its own, for States of all lanes.
template <class F, class = void> struct WarpReduce {
    static __device__ typename F::State of(typename F::State x, unsigned lanes) {
#pragma unroll
        for (unsigned offset = 16; offset > 0; offset /= 2)
            if (offset < lanes)
                x = F::combine(x, shuffle_down(x, offset));
        return x;
    }
};
template <class F> struct WarpReduce<F, decltype(void(&F::reduce_warp))> {
    static __device__ typename F::State of(typename F::State x, unsigned) {
        return F::reduce_warp(x);
    }
};

// Valid in thread 0 of the block, whose size is a multiple of 32. Between two calls there must be a barrier.
template <class F> __device__ typename F::State block_reduce_state(typename F::State x) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[32 * sizeof(State)];
    State *states = reinterpret_cast<State *>(raw);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = WarpReduce<F>::of(x, 32);
    if (lane == 0)
        states[warp] = x;
    __syncthreads();
    if (warp == 0)
        x = WarpReduce<F>::of(lane < warps ? states[lane] : F::identity(), warps);
    return x;
}

// Publishes a State in global memory, two words with their flags at a time: words i and i + 1 at address
// at(i).
template <class State, class At> __device__ void publish_words(State x, const At &at) {
    Words<State> words;
    words.state = x;
#pragma unroll
    for (unsigned i = 0; i < Words<State>::count; i += 2) {
        const uint64_t low = 1ull << 32 | words.word[i];
        const uint64_t high = 1ull << 32 | (i + 1 < Words<State>::count ? words.word[i + 1] : 0);
        store_flagged(at(i), low, high);
    }
}

// Slots in global memory through which blocks pass States to another block: each word of eight bytes has four
// bytes of the State in its lower half and a flag, 1, in its upper half. Words of eight bytes are written and
// read whole, so no fence is needed; the reader sets them back to zero for the next launch. Two words of one
// State are contiguous, followed by the words of the next block, so that one load of a warp touches few
// lines.
inline __device__ uint64_t slot_at(uint64_t slots, unsigned block, unsigned word) {
    return slots + 16 * (word / 2 * uint64_t(GR_FLAT_MAX_BLOCKS) + block);
}

template <class State> __device__ void slot_publish(uint64_t slots, unsigned block, State x) {
    publish_words(x, [&](unsigned i) { return slot_at(slots, block, i); });
}

// Waits for a slot, and clears it. Loads all words of the State at once.
template <class State> __device__ State slot_wait(uint64_t slots, unsigned block) {
    constexpr unsigned pairs = (Words<State>::count + 1) / 2;
    Words<State> words;
    uint64_t low[pairs], high[pairs], there;
    do {
        there = ~uint64_t(0);
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i)
            load_flagged(slot_at(slots, block, 2 * i), low[i], high[i]);
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i)
            there &= low[i] & high[i];
    } while (there >> 32 == 0);
#pragma unroll
    for (unsigned i = 0; i < pairs; ++i) {
        clear_flagged(slot_at(slots, block, 2 * i));
        words.word[2 * i] = uint32_t(low[i]);
        if (2 * i + 1 < Words<State>::count)
            words.word[2 * i + 1] = uint32_t(high[i]);
    }
    return words.state;
}

} // namespace gr::grid
