// The second kernel of a split-K matrix multiplication: adds up the products of the slices of k.
#pragma once

#include "matmul/matmul.cuh"
#include "matmul/tma.cuh"

namespace gr::matmul {

// Adds up the slices: 32 elements per block, of which each warp takes every eighth slice, and the first one
// what they found, in their order.
template <class T> __device__ void add_slices(const gr_matmul_add_slices_params &p) {
    enum { WARPS = GR_MATMUL_THREADS / 32 };
    static_assert(GR_MATMUL_ADD_SLICES_TILE == 32, "one element per lane");
    __shared__ T of_warps[WARPS][GR_MATMUL_ADD_SLICES_TILE];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t at = uint64_t(blockIdx.x) * GR_MATMUL_ADD_SLICES_TILE + lane;
    const T *from = reinterpret_cast<const T *>(p.from) + at;
    T sum = 0;
    pdl_wait();
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
    reinterpret_cast<T *>(p.to)[at] = sum;
}

} // namespace gr::matmul
