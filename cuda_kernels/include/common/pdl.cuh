// A kernel that begins while the one before it in the stream ends.
#pragma once

// Lets the next kernel of the stream in; it waits by itself until this one has ended.
inline __device__ void let_next_in() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Returns when the kernel before this one has ended and what it wrote can be seen.
inline __device__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Brings the line into the L2 cache. That is harmless before wait_for_previous(): all writes pass by there.
inline __device__ void prefetch(const void *at) {
#if __CUDA_ARCH__ >= 900
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}
