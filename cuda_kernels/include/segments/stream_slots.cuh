// Partial results of ranges and blocks of a stream, and the slots in which a block publishes its own.
#pragma once

#include <cstdint>

#include "grid/publish.cuh"
#include "segments/params.h"

namespace gr::segments {

using namespace grid;

enum { GR_STREAM_ENDS = 1, GR_STREAM_PENDING = 2 }; // a segment ends in it; the first of these began before

// The partial result of a range or a block: the State of the elements behind its last end and, of its first
// segment, if that is pending, the State of the elements before the end.
template <class State> struct StreamPart {
    State open;
    uint32_t flags, padding; // which has a name, or it would be copied byte by byte
};
template <class State> struct StreamPending {
    State part;
    uint64_t index; // of the result
    int64_t count;  // of all its elements
};
template <class State> struct StreamRecord {
    StreamPart<State> part;
    StreamPending<State> first;
};

// A record in a slot, four bytes in each word of eight, with a flag, as in grid/block_state.cuh.
template <class Record> union StreamSlot {
    static constexpr unsigned count = sizeof(Record) / 4;
    static_assert(count % 2 == 0 && 8 * count <= GR_STREAM_SLOT_BYTES, "see GR_STREAM_SLOT_BYTES");
    Record record;
    uint32_t word[count];

    __device__ StreamSlot() {
    }
    __device__ void put(uint64_t slot) const {
#pragma unroll
        for (unsigned i = 0; i < count; i += 2)
            store_flagged(slot + 8 * i, 1ull << 32 | word[i], 1ull << 32 | word[i + 1]);
    }
    // Polls all words once; returns whether they are published.
    __device__ bool look(uint64_t slot) {
        uint64_t marks = 1ull << 32;
#pragma unroll
        for (unsigned i = 0; i < count; i += 2) {
            uint64_t low, high;
            load_flagged(slot + 8 * i, low, high);
            marks &= low & high;
            word[i] = uint32_t(low);
            word[i + 1] = uint32_t(high);
        }
        return marks >> 32 != 0;
    }
    static __device__ void clear(uint64_t slot) {
#pragma unroll
        for (unsigned i = 0; i < count; i += 2)
            clear_flagged(slot + 8 * i);
    }
};

} // namespace gr::segments
