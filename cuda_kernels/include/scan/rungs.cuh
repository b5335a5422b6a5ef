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

// A tile of a block. A warp loads and stores neighbouring elements; in between, a thread has consecutive
// ones. Shared memory exchanges them, with an unused word after each 32, so that the lanes of a warp, 16
// elements apart, use different banks.
template <unsigned THREADS> struct Tile {
    static constexpr unsigned EACH = GR_SCAN_THREAD_ELEMENTS, COUNT = THREADS * EACH;
    float x[EACH]; // of the thread

    static __device__ float &place(unsigned i) {
        __shared__ float places[COUNT + COUNT / 32];
        return places[i + i / 32];
    }
    // Loads up to COUNT elements; others are zero.
    __device__ void load(const float *from, uint64_t count) {
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each) {
            const unsigned i = each * THREADS + threadIdx.x;
            place(i) = i < count ? from[i] : 0;
        }
        __syncthreads();
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each)
            x[each] = place(threadIdx.x * EACH + each);
    }
    // Replaces the elements of the thread by their sums from its first one on, and returns the last.
    __device__ float scan_thread() {
#pragma unroll
        for (unsigned each = 1; each < EACH; ++each)
            x[each] = x[each - 1] + x[each];
        return x[EACH - 1];
    }
    // Stores the elements plus `before`.
    __device__ void store(float *to, uint64_t count, float before) {
        __syncthreads();
#pragma unroll
        for (unsigned each = 0; each < EACH; ++each)
            place(threadIdx.x * EACH + each) = before + x[each];
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
