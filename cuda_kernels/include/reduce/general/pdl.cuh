// The general kernels begin while the kernel before them in the stream ends, on devices that can.
#pragma once

#include "common/pdl_as_comments.cuh"

// Returns when the kernel before this one has ended and what it wrote can be seen: before anything is loaded.
inline __device__ void begin_early(const gr_general_params &p) {
    if (p.flags & GR_TRIGGER_EARLY)
        let_next_begin();
    wait_if_early();
}
