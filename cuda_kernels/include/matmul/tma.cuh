// For kernels that are specialized by warp: one warp asks for tiles, which the copy engine brings by tensor
// maps (TMA), the others multiply them.
#pragma once

#include "common/pdl.cuh"
#include "common/ptx.cuh"

namespace gr::matmul {

using namespace common;

// Releases registers down to COUNT per thread, or takes registers up to COUNT, for all threads of four warps.
template <int COUNT> __device__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> __device__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// A box of a tensor map for all CLUSTER blocks of a cluster, at the same address in each.
template <int CLUSTER>
__device__ void tma_load_cluster(uint32_t to, const void *map, const uint32_t (&at)[3], uint32_t barrier) {
    if (CLUSTER == 1)
        ptx::cp_async_bulk_tensor(to, map, at, barrier);
    else
        ptx::cp_async_bulk_tensor(to, map, at, barrier, uint16_t((1 << CLUSTER) - 1));
}

} // namespace gr::matmul
