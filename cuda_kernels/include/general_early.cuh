// The general kernels begin while the kernel before them in the stream ends, on devices that can. They are
// compiled once, for devices that cannot, too: so these are comments, of which the build makes instructions
// in the copy for compute capability 9.0 and later (build_support/kernels.py).
#pragma once

// Lets the next kernel of the stream in; it waits by itself until this one has ended.
inline __device__ void let_next_begin() {
    asm volatile("// griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns when the kernel before this one has ended and what it wrote can be seen: before anything is loaded.
inline __device__ void begin_early(const gr_general_params &p) {
    if (p.flags & GR_EARLY)
        let_next_begin();
    asm volatile("// griddepcontrol.wait;" ::: "memory");
}
