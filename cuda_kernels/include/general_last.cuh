// general_last: results from the States that another general kernel wrote, p.count rows of p.results each.
#pragma once

#include "general.cuh"

template <class F> __device__ void reduce_last(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    const unsigned along = p.threads_along, columns = GR_GENERAL_THREADS / along;
    const unsigned column = threadIdx.x % columns, row = threadIdx.x / columns;
    const uint64_t result = uint64_t(blockIdx.x) * columns + column;
    const State *in = reinterpret_cast<const State *>(p.in) + result;

    State s[4] = {F::identity(), F::identity(), F::identity(), F::identity()};
    if (result < p.results) {
        for (uint64_t k = row; k < p.count; k += 4 * along) {
            State loaded[4];
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                loaded[j] = k + j * along < p.count ? in[(k + j * along) * p.results] : F::identity();
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                s[j] = F::combine(s[j], loaded[j]);
        }
    }
    State x = F::combine(F::combine(s[0], s[1]), F::combine(s[2], s[3]));
    shared[threadIdx.x] = x;
    for (unsigned half = along / 2; half > 0; half /= 2) {
        __syncthreads();
        if (row < half)
            shared[threadIdx.x] = x = F::combine(x, shared[threadIdx.x + half * columns]);
    }
    if (row == 0 && result < p.results)
        put<F>(p, result, x);
}
