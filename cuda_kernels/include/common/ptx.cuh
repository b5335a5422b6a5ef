// PTX instructions that several kernels use and CUDA C++ has no function for, each wrapped once: barriers in
// shared memory (mbarrier), bulk copies and tensor copies by the copy engine (TMA), asynchronous copies of
// threads (cp.async), fences, named barriers, fragments of matrices.
//
// Names and the order of arguments are those of libcu++'s cuda::ptx, which NVRTC does not have. An address in
// shared memory is a 32-bit integer, in the shared state space, so overloads need no tags for the space.
#pragma once

#include <cstdint>

namespace gr::common {

// The address of a variable in shared memory, in the shared state space.
inline __device__ uint32_t shared_address(const void *at) {
    return uint32_t(__cvta_generic_to_shared(at));
}

namespace ptx {

// ---- mbarrier: a phase ends when `count` arrivals have come, and all bytes that were announced
// (compute capability 9.0)

inline __device__ void mbarrier_init(uint32_t barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
template <unsigned COUNT> __device__ void mbarrier_init(uint32_t barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "n"(COUNT) : "memory");
}

// Makes initialized barriers visible to the copy engine and to the other blocks of a cluster.
inline __device__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

inline __device__ void mbarrier_arrive(uint32_t barrier) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(barrier) : "memory");
}

// Arrives at the same barrier of another block of the cluster.
inline __device__ void mbarrier_arrive_cluster(uint32_t barrier, unsigned rank) {
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

// Arrives, and announces bytes that copies will bring.
inline __device__ void mbarrier_arrive_expect_tx(uint32_t barrier, unsigned bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

// Whether the phase of this parity has ended; may suspend the thread for a while before it returns false.
inline __device__ bool mbarrier_try_wait_parity(uint32_t barrier, unsigned parity) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

// The same, without suspending.
inline __device__ bool mbarrier_test_wait_parity(uint32_t barrier, unsigned parity) {
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

// Waits until the phase of this parity has ended.
inline __device__ void mbarrier_wait_parity(uint32_t barrier, unsigned parity) {
    while (!mbarrier_try_wait_parity(barrier, parity))
        ;
}

// ---- copies by the copy engine (compute capability 9.0)

// From global to shared memory: a multiple of 16 bytes, at addresses that are multiples of 16. The bytes
// count at the barrier.
inline __device__ void cp_async_bulk(uint32_t to, const void *from, unsigned bytes, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

// From shared to global memory, as part of a group.
inline __device__ void cp_async_bulk(void *to, uint32_t from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

// A box of a tensor map, at these coordinates, the innermost first. Elements outside of the tensor are zeros.
inline __device__ void cp_async_bulk_tensor(uint32_t to, const void *map, const uint32_t (&at)[3],
                                            uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier)
                 : "memory");
}
inline __device__ void cp_async_bulk_tensor(uint32_t to, const void *map, const int32_t (&at)[5],
                                            uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
                 "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(barrier)
                 : "memory");
}

// The same box to several blocks of the cluster (multicast): to one address in each block of `blocks`, a bit
// for each rank, and for one barrier there.
inline __device__ void cp_async_bulk_tensor(uint32_t to, const void *map, const uint32_t (&at)[3],
                                            uint32_t barrier, uint16_t blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
                 "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier), "h"(blocks)
                 : "memory");
}

// From shared to global memory, as part of a group. Elements outside of the tensor are not written.
inline __device__ void cp_async_bulk_tensor(const void *map, const uint32_t (&at)[3], uint32_t from) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(from)
        : "memory");
}

// Copies to global memory since the last call become a group.
inline __device__ void cp_async_bulk_commit_group() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most PENDING groups of this thread are incomplete.
template <int PENDING> __device__ void cp_async_bulk_wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Waits until at most PENDING groups of this thread have not been read from shared memory.
template <int PENDING> __device__ void cp_async_bulk_wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Makes this thread's writes to shared memory visible to the copy engine and the tensor cores, which access
// memory by the async proxy.
inline __device__ void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Brings a tensor map into the cache before the first copy uses it.
inline __device__ void prefetch_tensormap(const void *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- copies by threads that do not wait for them (compute capability 8.0)

// From global to shared memory: BYTES bytes, of which the first `read` are read and the others become zeros.
template <int BYTES> __device__ void cp_async(void *to, const void *from, unsigned read = BYTES) {
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(read)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES),
                     "r"(read)
                     : "memory");
}

// Copies since the last call become a group.
inline __device__ void cp_async_commit_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most PENDING groups of this thread are incomplete.
template <int PENDING> __device__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// This thread arrives at the barrier when its copies so far are complete.
inline __device__ void cp_async_mbarrier_arrive_noinc(uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// ---- barriers, stores and caches

// A named barrier: the threads of some warps of the block wait for each other.
template <int THREADS> __device__ void barrier_sync(unsigned number) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
}
template <int NUMBER, int THREADS> __device__ void barrier_sync() {
    asm volatile("bar.sync %0, %1;" ::"n"(NUMBER), "n"(THREADS) : "memory");
}

// The blocks of a cluster wait for each other; memory is not ordered.
inline __device__ void barrier_cluster_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// Stores 16 bytes to shared memory.
inline __device__ void st_shared(uint32_t to, uint4 v) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

// Brings the line at an address in global memory into the L2 cache.
inline __device__ void prefetch_l2(const void *at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
inline __device__ void prefetch_l2(uint64_t address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

} // namespace ptx

} // namespace gr::common
