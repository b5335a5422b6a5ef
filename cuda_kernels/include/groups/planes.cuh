// The planes in device memory: additions of elements, and the words that all blocks share.
#pragma once

#include <type_traits>

#include "exact/block.cuh"
#include "groups/rows.cuh"

namespace gr::groups {

inline __device__ uint32_t *header_of(const gr_group_params &p) {
    return reinterpret_cast<uint32_t *>(p.header);
}

// The groups of a table of windows, and of a slab: a multiple of four.
inline __device__ unsigned padded_groups(const gr_group_params &p) {
    return (unsigned(p.groups) + 3) / 4 * 4;
}

inline __device__ void count_row(const gr_group_params &p, uint64_t group) {
    atomicAdd(reinterpret_cast<unsigned long long *>(p.counts) + group, 1ull);
}

// Which planes a thread has added to, in registers: a bit each. `of_block` are three words in shared memory,
// all 0 at first.
template <class In, unsigned Words = std::is_same<In, double>::value ? 3 : 1> struct UsedPlanes {
    static constexpr unsigned words = Words;
    uint32_t *of_block;
    uint32_t bits[words] = {};

    __device__ void mark(unsigned plane) {
#pragma unroll
        for (unsigned i = 0; i < words; ++i)
            bits[i] |= words == 1 || plane / 32 == i ? 1u << plane % 32 : 0;
    }
    // For all threads of a block, before a barrier.
    __device__ void collect() const {
#pragma unroll
        for (unsigned i = 0; i < words; ++i)
            if (const uint32_t all = exact::warp_or(bits[i]); all != 0 && threadIdx.x % 32 == 0)
                atomicOr(&of_block[i], all);
    }
};

// Adds to planes and flags.
template <class In, class Used = UsedPlanes<In>> struct PlaneAdder {
    const gr_group_params &p;
    Used &used;
    unsigned lowest_plane = 0; // the number of plane 0 among the planes of all exponents

    __device__ void add_to_plane(uint64_t result, unsigned plane, int64_t addend) const {
        used.mark(plane);
        auto *planes = reinterpret_cast<unsigned long long *>(p.planes);
        unsigned long long *at = planes + plane * p.results + result;
        if (!(p.options & GR_GROUP_SPILL)) {
            atomicAdd(at, static_cast<unsigned long long>(addend));
            return;
        }
        // A plane is a number modulo 2^64: the addition that overflows it carries into the next one.
        for (;;) {
            const int64_t old = int64_t(atomicAdd(at, static_cast<unsigned long long>(addend)));
            const int64_t sum = int64_t(uint64_t(old) + uint64_t(addend));
            if (((old ^ sum) & (addend ^ sum)) >= 0 || ++plane >= Planes<In>::count)
                return;
            used.mark(plane);
            addend = old < 0 ? -(1ll << (64 - Planes<In>::bits)) : 1ll << (64 - Planes<In>::bits);
            at += p.results;
        }
    }
    __device__ void add(In x, uint64_t result) const {
        const unsigned flags = Planes<In>::add(
            x, [&](unsigned plane, int64_t addend) { add_to_plane(result, plane - lowest_plane, addend); });
        set_flags(flags, result);
    }
    __device__ void set_flags(unsigned flags, uint64_t result) const {
        if (flags != 0) {
            uint32_t *at = reinterpret_cast<uint32_t *>(p.flags) + result;
            if ((*reinterpret_cast<volatile uint32_t *>(at) & flags) != flags)
                atomicOr(at, flags);
        }
    }
    // For all threads of a block, after their additions; also a barrier.
    __device__ void publish() const {
        used.collect();
        __syncthreads();
        if (threadIdx.x < Used::words && used.of_block[threadIdx.x] != 0)
            atomicOr(header_of(p) + GR_GROUP_USED + threadIdx.x, used.of_block[threadIdx.x]);
    }
};

} // namespace gr::groups
