// Common parts of the rungs of the ladder of scans: arrays, shuffles of a warp, and the tile of s3 and s4.
#pragma once

#include <cstdint>

#include "scan/ladder/params.h"

namespace gr::scan {

constexpr unsigned ALL_LANES = ~0u;

// Arrays of a rung.
struct Rung {
    const float *from;
    float *to, *totals;
    explicit __device__ Rung(const gr_scan_rung_params &p)
        : from(reinterpret_cast<const float *>(p.from)), to(reinterpret_cast<float *>(p.to)),
          totals(reinterpret_cast<float *>(p.totals)) {
    }
};

// Returns the sum of x over this lane and the lanes before it.
inline __device__ float scan_warp(float x) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, x, step);
        if (lane >= step)
            x = before + x;
    }
    return x;
}

// Returns the sum of x over the threads before this one, and sets `total` to the sum over the block. All
// threads of the block take part; `sums` is shared.
template <unsigned WARPS> __device__ float sum_before_thread(float x, float (&sums)[WARPS], float &total) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float up_to = scan_warp(x);
    if (lane == 31)
        sums[warp] = up_to;
    __syncthreads();
    float before = __shfl_up_sync(ALL_LANES, up_to, 1), warps = 0;
    if (lane == 0)
        before = 0;
    total = 0;
#pragma unroll
    for (unsigned each = 0; each < WARPS; ++each) {
        if (each == warp)
            warps = total;
        total += sums[each];
    }
    return warps + before;
}

// A tile of a block, in shared memory of WORDS words. A warp loads and stores neighbouring elements; in
// between, a thread adds its EACH consecutive ones. An unused word after each 32 lets the lanes of a warp,
// EACH elements apart, use different banks.
template <unsigned THREADS, unsigned EACH> struct Tile {
    static constexpr unsigned COUNT = THREADS * EACH, WORDS = COUNT + COUNT / 32;
    float *words;

    __device__ float &place(unsigned i) const {
        return words[i + i / 32];
    }
    // Loads up to COUNT elements; others are zero. Returns the sum of the elements of the thread.
    __device__ float load(const float *from, uint64_t count) const {
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each) {
            const unsigned i = each * THREADS + threadIdx.x;
            place(i) = i < count ? from[i] : 0;
        }
        __syncthreads();
        float sum = 0;
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each)
            sum += place(threadIdx.x * EACH + each);
        return sum;
    }
    // Adds up the elements of each thread from `before` on, and stores the sums.
    __device__ void store(float *to, uint64_t count, float before) const {
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each) {
            before += place(threadIdx.x * EACH + each);
            place(threadIdx.x * EACH + each) = before;
        }
        __syncthreads();
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each) {
            const unsigned i = each * THREADS + threadIdx.x;
            if (i < count)
                to[i] = place(i);
        }
    }
};

} // namespace gr::scan
