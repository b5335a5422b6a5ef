// Thread block clusters (compute capability 9.0): the blocks of a cluster can read and write one another's
// shared memory (distributed shared memory), and have a barrier of their own.
#pragma once

#include <cstdint>

namespace gr::common {

inline __device__ unsigned cluster_size() {
    unsigned x;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x));
    return x;
}

// All threads of the cluster wait for each other, and see each other's writes before.
inline __device__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
inline __device__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
inline __device__ void cluster_sync() {
    cluster_arrive();
    cluster_wait();
}

// The same variable in the shared memory of another block of the cluster.
template <class T> __device__ T *in_block(T *variable, unsigned rank) {
    uint64_t address;
    asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(variable), "r"(rank));
    return reinterpret_cast<T *>(address);
}

} // namespace gr::common
