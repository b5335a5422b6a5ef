// Fixed-point sums, in units of a power of two, which blocks publish to the last block of their result to
// begin through slots in global memory: one round trip, where a sum in memory and a count of blocks take
// three.
#pragma once

#include "exact/block.cuh"
#include "grid/publish.cuh"
#include "grid/tickets.cuh"

namespace gr::exact {

using namespace grid;

// A fixed-point number: a whole number of units, each 2^exponent.
struct FixedPointSum {
    Whole units; // less than 2^111
    int exponent;
    uint32_t flags; // those of a state, and OUTLIERS
};

enum {
    OUTLIERS = 16,     // besides, digits have been added to the state of the result
    SLOT_BIAS = 1100,  // of an exponent in a slot
    SLOTS_AT_ONCE = 4, // that a lane asks for
    ALL_FLAGS = OUTLIERS | (OUTLIERS - 1),
};

// A slot has 8 words of 8 bytes: four bytes of the sum in the lower half of each, and a flag, 1, in the upper
// half. Words of 8 bytes are written and read whole, so no fence is needed.
struct Slot {
    uint64_t word[4];

    __device__ bool try_take(uint64_t at) {
        load_flagged(at, word[0], word[1]);
        load_flagged(at + 16, word[2], word[3]);
        return (word[0] & word[1] & word[2] & word[3]) >> 32 != 0;
    }
    __device__ void put(uint64_t at) const {
        store_flagged(at, word[0], word[1]);
        store_flagged(at + 16, word[2], word[3]);
    }
};

inline __device__ Slot slot_of(const FixedPointSum &sum) {
    const uint32_t rest = static_cast<uint32_t>(sum.units >> 96) << 16 |
                          static_cast<uint32_t>(sum.exponent + SLOT_BIAS) << 5 | sum.flags;
    return {{1ull << 32 | static_cast<uint32_t>(sum.units),
             1ull << 32 | static_cast<uint32_t>(sum.units >> 32),
             1ull << 32 | static_cast<uint32_t>(sum.units >> 64), 1ull << 32 | rest}};
}

inline __device__ FixedPointSum sum_of(const Slot &slot) {
    const uint32_t rest = static_cast<uint32_t>(slot.word[3]);
    const uint64_t low = slot.word[1] << 32 | static_cast<uint32_t>(slot.word[0]);
    const int64_t high = static_cast<int64_t>(static_cast<int32_t>(rest) >> 16) * (int64_t(1) << 32) +
                         static_cast<uint32_t>(slot.word[2]);
    return {static_cast<Whole>(high) << 64 | low, static_cast<int>(rest >> 5 & 2047) - SLOT_BIAS,
            rest & ALL_FLAGS};
}

// The first digit of a state that a sum is added to, bit by bit; it is rare.
static __device__ __noinline__ void spread(int64_t *state, unsigned below, Whole units, int exponent) {
    int position = exponent + static_cast<int>(below);
    if (position < 0) { // what is below the state is 0
        units >>= -position;
        position = 0;
    }
    const unsigned at = static_cast<unsigned>(position);
    add_pieces(state, static_cast<int64_t>(units & 0xffffffffffff), at);
    add_pieces(state, static_cast<int64_t>(units >> 48 & 0xffffffffffff), at + 48);
    add_pieces(state, static_cast<int64_t>(units >> 96), at + 96);
}

// Adds to the sum of the last block those of all others, by its first warp, in all of whose lanes it is. Up
// to Reach more or fewer bits below the point than its own units have room; other sums go to the block's
// state.
template <unsigned Reach, unsigned Bits>
__device__ FixedPointSum collect(uint64_t slots, unsigned others, FixedPointSum own, unsigned below) {
    const unsigned lane = threadIdx.x % 32, mine = (others + 31 - lane) / 32;
    const int least = own.exponent - static_cast<int>(Reach);
    Whole total = lane == 0 ? own.units << Reach : Whole(0);
    uint32_t flags = own.flags;
    for (unsigned first = 0; first < mine; first += SLOTS_AT_ONCE) {
        Slot slot[SLOTS_AT_ONCE];
        bool all;
        do {
            all = true;
#pragma unroll
            for (unsigned k = 0; k < SLOTS_AT_ONCE; ++k)
                all =
                    slot[k].try_take(slots + GR_EXACT_SLOT_BYTES * (lane + 32 * min(first + k, mine - 1))) &&
                    all;
        } while (!all);
#pragma unroll
        for (unsigned k = 0; k < SLOTS_AT_ONCE; ++k) {
            if (first + k >= mine)
                continue;
            const FixedPointSum sum = sum_of(slot[k]);
            flags |= sum.flags;
            const unsigned up = static_cast<unsigned>(sum.exponent - least);
            if (up <= 2 * Reach) {
                total += sum.units << up;
            } else if (sum.units != 0) {
                spread(block_state(), below, sum.units, sum.exponent);
                flags |= OUTLIERS;
            }
        }
    }
    __syncwarp();
    return {warp_total<Bits>(total), least, warp_or(flags)};
}

// Orders what a block adds to a state in global memory before its slot, and reads of a slot before those of
// the state. __threadfence() is sequentially consistent besides, and takes longer.
inline __device__ void fence_acq_rel_gpu() {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// Clears the slots for the next launch, by a warp: after collect() and a fence, which would wait for the
// stores.
inline __device__ void clear_slots(uint64_t slots, unsigned others) {
    for (unsigned i = threadIdx.x % 32; i < others; i += 32)
        Slot{}.put(slots + GR_EXACT_SLOT_BYTES * i);
}

} // namespace gr::exact
