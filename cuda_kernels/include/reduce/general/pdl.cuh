// Programmatic dependent launch of the general kernels, on devices that support it.
#pragma once

#include "common/pdl.cuh"

namespace gr::reduce {

using namespace common;

// Waits until the kernel before this one has ended and its writes are visible. A kernel calls this before its
// first load.
inline __device__ void pdl_begin(const gr_general_params &p) {
    if (p.flags & GR_TRIGGER_EARLY)
        pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
}

} // namespace gr::reduce
