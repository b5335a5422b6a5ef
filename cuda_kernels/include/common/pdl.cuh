// Programmatic dependent launch (PDL): a kernel begins while the kernel before it in the stream ends, from
// compute capability 9.0 on. A kernel calls pdl_wait() before it reads what the kernel before it wrote.
#pragma once

#include "common/ptx.cuh"

namespace gr::common {

// Lets the next kernel of the stream begin (griddepcontrol.launch_dependents), as soon as all blocks of this
// one have called it or ended. That kernel waits for the end of this one where it calls pdl_wait().
inline __device__ void pdl_launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Waits until the kernel before this one has ended and its writes are visible (griddepcontrol.wait).
inline __device__ void pdl_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Brings a line into the L2 cache. That is allowed before pdl_wait(): all writes go through this cache.
inline __device__ void pdl_prefetch(const void *at) {
#if __CUDA_ARCH__ >= 900
    ptx::prefetch_l2(at);
#endif
}

// For kernels that are compiled once, for compute capability 7.5, and run on all devices: here the
// instructions are comments in the PTX. The build turns these comments into instructions in a second copy,
// for compute capability 9.0 and later (with_instructions in build_support/kernels.py).
namespace pdl_as_comments {

inline __device__ void pdl_launch_dependents() {
    asm volatile("// griddepcontrol.launch_dependents;" ::: "memory");
}

inline __device__ void pdl_wait() {
    asm volatile("// griddepcontrol.wait;" ::: "memory");
}

inline __device__ void pdl_prefetch(const void *at) {
    ptx::prefetch_l2(at);
}

} // namespace pdl_as_comments

} // namespace gr::common
