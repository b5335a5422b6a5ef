// What the broken kernels use of NVIDIA's header, which does not come with NVRTC.
#pragma once

namespace cooperative_groups {

struct cluster_group {
    __device__ void sync() const {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    }

    __device__ unsigned block_rank() const {
        unsigned rank;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        return rank;
    }

    template <class T> __device__ T *map_shared_rank(T *variable, unsigned rank) const {
        T *there;
        asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(variable), "r"(rank));
        return there;
    }
};

__device__ inline cluster_group this_cluster() {
    return {};
}

} // namespace cooperative_groups
