// Barriers in shared memory, and copies of tiles by tensor maps that complete on them: for the rungs of the
// matrix products whose tiles the copy engine brings.
#pragma once

#include <cstdint>

#include "common/pdl.cuh"

inline __device__ uint32_t shared_address(const void *at) {
    return uint32_t(__cvta_generic_to_shared(at));
}

// A phase of a barrier ends when `arrivals` have come, and all bytes that were announced. `at` is an address
// in shared memory, as everywhere below.
inline __device__ void make_barrier(uint32_t at, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

// So that the copy engine and the other blocks of a cluster see the barriers.
inline __device__ void barriers_are_made() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

inline __device__ void arrive(uint32_t at) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(at) : "memory");
}

// The same at the barrier of another block of the cluster.
inline __device__ void arrive_at(uint32_t at, unsigned rank) {
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(at),
                 "r"(rank)
                 : "memory");
}

inline __device__ void arrive_and_expect(uint32_t at, unsigned bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(at),
                 "r"(bytes)
                 : "memory");
}

// Returns when the phase has ended; a phase and the next are told apart by a parity.
inline __device__ void wait_for(uint32_t at, unsigned parity) {
    uint32_t done;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at), "r"(parity)
                     : "memory");
    while (!done);
}

// The tile at column x, row y of matrix z; what lies outside of the map comes as zeros.
inline __device__ void copy_tile(uint32_t to, const void *map, uint32_t x, uint32_t y, uint32_t z,
                                 uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}

// The same for all blocks of a cluster: to the same place in each, and telling the same barrier.
template <int CLUSTER>
__device__ void copy_tile_to(uint32_t to, const void *map, uint32_t x, uint32_t y, uint32_t z,
                             uint32_t barrier) {
    if (CLUSTER == 1)
        copy_tile(to, map, x, y, z, barrier);
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
                     "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(uint16_t((1 << CLUSTER) - 1))
                     : "memory");
}

// The way back, from shared memory; what lies outside of the map is not written.
inline __device__ void store_tile(const void *map, uint32_t x, uint32_t y, uint32_t z, uint32_t from) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
        "r"(x), "r"(y), "r"(z), "r"(from)
        : "memory");
}

inline __device__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until the engine has read what it is to store.
inline __device__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Shared memory written by this thread is seen by the copy engine and the tensor cores.
inline __device__ void show_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

inline __device__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

template <int COUNT> __device__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> __device__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
