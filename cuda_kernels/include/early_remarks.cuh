// For kernels that are compiled once, for devices on which none begins while the one before it ends, too:
// these are comments, of which the build makes instructions in the copy for compute capability 9.0 and later
// (build_support/kernels.py). What has copies of its own takes early_launch.cuh.
#pragma once

// Lets the next kernel of the stream in; it waits by itself until this one has ended.
inline __device__ void let_next_begin() {
    asm volatile("// griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns when the kernel before this one has ended and what it wrote can be seen.
inline __device__ void wait_if_early() {
    asm volatile("// griddepcontrol.wait;" ::: "memory");
}
