// Adds up the slices of k of a product: each has a C of its own. 32 elements a block; each of its warps takes
// every eighth slice, and the first one adds up what they found, in their order.
#include <cstdint>

#include "matmul/params.h"

enum { THREADS = GR_MATMUL_THREADS, WARPS = THREADS / 32, SUMS = GR_MATMUL_SUMS };
static_assert(SUMS == 32, "an element a lane");

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul_sum_f32(const __grid_constant__ gr_matmul_sum_params p) {
    __shared__ float of_warps[WARPS][SUMS];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t at = uint64_t(blockIdx.x) * SUMS + lane;
    const float *from = reinterpret_cast<const float *>(p.from) + at;
    float sum = 0;
    if (at < p.count)
#pragma unroll 8
        for (uint64_t slice = warp; slice < p.slices; slice += WARPS)
            sum += from[slice * p.count];
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || at >= p.count)
        return;
    for (int other = 1; other < WARPS; ++other)
        sum += of_warps[other][lane];
    reinterpret_cast<float *>(p.to)[at] = sum;
}
