// The general kernels begin while the kernel before them in the stream ends, on devices that can.
#pragma once

#include "common/pdl.cuh"

// Returns when the kernel before this one has ended and what it wrote can be seen: before anything is loaded.
inline __device__ void pdl_begin(const gr_general_params &p) {
    if (p.flags & GR_TRIGGER_EARLY)
        pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
}
