// Common parts of the rungs of the ladder of group sums: the elements of a thread, and prefix sums of a
// block.
#pragma once

#include <cstdint>

#include "common/shared_array.cuh"
#include "groups/ladder/params.h"

namespace gr::groups {

using namespace common;

// Arrays of a rung.
struct Rung {
    const float *values;
    const int32_t *labels;
    float *out;
    explicit __device__ Rung(const gr_group_rung_params &p)
        : values(reinterpret_cast<const float *>(p.values)),
          labels(reinterpret_cast<const int32_t *>(p.labels)), out(reinterpret_cast<float *>(p.out)) {
    }
};

inline __device__ uint64_t first_of_thread() {
    return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline __device__ uint64_t threads_of_grid() {
    return uint64_t(gridDim.x) * blockDim.x;
}

// A negative label is a large unsigned one.
inline __device__ bool is_group(int32_t label, const gr_group_rung_params &p) {
    return uint32_t(label) < p.groups;
}

// Returns the sum of x over the threads before this one. All threads of the block take part.
template <unsigned THREADS> __device__ unsigned sum_before_thread(unsigned x) {
    __shared__ unsigned sums[THREADS];
    unsigned sum = x;
    for (unsigned step = 1; step < THREADS; step *= 2) {
        sums[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x >= step)
            sum += sums[threadIdx.x - step];
        __syncthreads();
    }
    return sum - x;
}

} // namespace gr::groups
