// mbarriers, bulk copies and copies in groups, an instruction a function.
#pragma once
#include <cstdint>

__device__ inline uint32_t shared_address(const void *at) {
    return uint32_t(__cvta_generic_to_shared(at));
}

__device__ inline void open(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
                 : "memory");
}

__device__ inline void arrive(uint64_t *barrier) {
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier))
        : "memory");
}

__device__ inline void copy(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

__device__ inline bool ended(uint64_t *barrier, unsigned parity) {
    uint32_t done;
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
    return done;
}

__device__ inline void wait(uint64_t *barrier, unsigned parity) {
    while (!ended(barrier, parity)) {
    }
}

// A wait for the wrong phase may never end; this one does.
__device__ inline void wait_a_while(uint64_t *barrier, unsigned parity) {
    for (unsigned i = 0; i < 100 && !ended(barrier, parity); i++) {
    }
}

__device__ inline void fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void copy_out(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ inline void wait_for_reads() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ inline void start(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <unsigned LEFT> __device__ inline void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
