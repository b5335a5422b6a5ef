// What takes the place of combine_neighbours, of general_rows.cuh, for functors with `of_lanes`, which have a
// shorter way for the States of neighbouring lanes.
#pragma once

#include "general_rows.cuh"

template <class F> __device__ typename F::State combine_lanes(typename F::State x, unsigned along) {
    using State = typename F::State;
    __shared__ State slots[GR_GENERAL_THREADS / 32];
    const unsigned warp = threadIdx.x / 32;
    x = F::of_lanes(x, along < 32 ? along : 32);
    if (along <= 32)
        return x;
    if (threadIdx.x % 32 == 0)
        slots[warp] = x;
    __syncthreads();
    if (threadIdx.x % along == 0)
        for (unsigned other = 1; other < along / 32; ++other)
            x = F::combine(x, slots[warp + other]);
    return x;
}
