// The second kernel of a split-K matrix multiplication: adds up the products of the slices of k.
#pragma once

#include "matmul/matmul.cuh"
#include "matmul/tma.cuh"

namespace gr::matmul {

// Adds up the slices in their order: 32 elements per block. All warps load CHUNK slices, and the first one
// adds them up.
template <class T> __device__ void add_slices(const gr_matmul_add_slices_params &p) {
    enum { WARPS = GR_MATMUL_THREADS / 32, CHUNK = 8 * WARPS };
    static_assert(GR_MATMUL_ADD_SLICES_TILE == 32, "one element per lane");
    __shared__ T chunk[CHUNK][GR_MATMUL_ADD_SLICES_TILE];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t at = uint64_t(blockIdx.x) * GR_MATMUL_ADD_SLICES_TILE + lane;
    const T *from = reinterpret_cast<const T *>(p.from) + at;
    T sum = 0;
    pdl_wait();
    for (uint64_t first = 0; first < p.slices; first += CHUNK) {
        const unsigned count = unsigned(min(p.slices - first, uint64_t(CHUNK)));
        if (at < p.count)
#pragma unroll 8
            for (unsigned i = warp; i < count; i += WARPS)
                chunk[i][lane] = from[(first + i) * p.count];
        __syncthreads();
        if (warp == 0 && at < p.count)
#pragma unroll 8
            for (unsigned i = 0; i < count; ++i)
                sum = first + i == 0 ? chunk[i][lane] : sum + chunk[i][lane];
        __syncthreads();
    }
    if (warp == 0 && at < p.count)
        reinterpret_cast<T *>(p.to)[at] = sum;
}

} // namespace gr::matmul
