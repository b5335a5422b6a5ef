// general_last: results from the States that another general kernel wrote, p.count rows of States, combined
// as a balanced binary tree whose leaves are in order, as far as a thread has GR_LAST_IN_FLIGHT of them.
// Under GR_SCATTERED_OUTPUT several results may come from one row of States, along an axis that repeats its
// elements.
#pragma once

#include "reduce/general/general.cuh"

namespace gr::reduce {

template <class F> __device__ void reduce_last(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    constexpr unsigned in_flight = GR_LAST_IN_FLIGHT;
    const unsigned along = p.threads_along, columns = GR_GENERAL_THREADS / along;
    const unsigned column = threadIdx.x % columns, row = threadIdx.x / columns;
    uint64_t each = in_flight;
    while (each * along < p.count)
        each *= 2;
    pdl_begin(p);
    for (uint64_t first = uint64_t(blockIdx.x) * columns; first < p.results;
         first += uint64_t(gridDim.x) * columns) {
        const uint64_t result = first + column;
        State x = F::identity();
        if (result < p.results) {
            const int64_t at = p.flags & GR_SCATTERED_OUTPUT ? offsets(p.keep, result).in : int64_t(result);
            const State *in = reinterpret_cast<const State *>(p.in) + at;
            for (uint64_t k = row * each; k < (row + 1) * each && k < p.count; k += in_flight) {
                State loaded[in_flight];
#pragma unroll
                for (unsigned j = 0; j < in_flight; ++j)
                    if (k + j < p.count)
                        loaded[j] = in[(k + j) * p.states];
#pragma unroll
                for (unsigned apart = 1; apart < in_flight; apart *= 2)
#pragma unroll
                    for (unsigned j = 0; j < in_flight; j += 2 * apart)
                        if (k + j + apart < p.count)
                            loaded[j] = F::combine(loaded[j], loaded[j + apart]);
                x = k == row * each ? loaded[0] : F::combine(x, loaded[0]);
            }
        }
        if (along > 1)
            shared[threadIdx.x] = x;
        for (unsigned apart = 1; apart < along; apart *= 2) {
            __syncthreads();
            if (row % (2 * apart) == 0 && (row + apart) * each < p.count)
                shared[threadIdx.x] = x = F::combine(x, shared[threadIdx.x + apart * columns]);
        }
        if (row == 0 && result < p.results)
            put_one<F>(p, result, x);
        if (along > 1)
            __syncthreads(); // the next results use the same memory
    }
}

} // namespace gr::reduce
