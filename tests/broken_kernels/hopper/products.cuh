// wgmma with a tile of B of 8 x 8 TF32 in shared memory, an instruction a function.
#pragma once
#include "copies.cuh"

__device__ inline uint64_t tile_of(const float *slots) {
    return uint64_t(shared_address(slots) >> 4 & 0x3fff) | uint64_t(128 >> 4) << 16 |
           uint64_t(128 >> 4) << 32;
}

__device__ inline void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void multiply(float (&sums)[4], const uint32_t (&a)[4], uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1;"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ inline void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
