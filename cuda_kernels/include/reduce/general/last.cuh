// general_last: results from the States that another general kernel wrote, p.count rows of States. Under
// GR_SCATTERED_OUTPUT several results may come from one row of States, along an axis that repeats its
// elements.
#pragma once

#include "reduce/general/general.cuh"

namespace gr::reduce {

// The States of pieces, by the tree of general_pieces, or of lanes, by the tree of lanes.cuh: a node has up
// to GR_PIECE_BRANCHES branches, combined one after the other or as a binary tree. A thread combines the
// first level of the States of a result, and the first threads the levels above it.
template <class F>
__device__ typename F::State combine_pieces(const gr_general_params &p, const typename F::State *in,
                                            typename F::State *shared, unsigned row, unsigned columns) {
    using State = typename F::State;
    constexpr unsigned branches = GR_PIECE_BRANCHES;
    unsigned left = unsigned(p.count);
    State x[branches];
#pragma unroll
    for (unsigned j = 0; j < branches; ++j)
        if (in != nullptr && row * branches + j < left)
            x[j] = in[(row * branches + j) * p.states];
    while (true) {
        if (p.flags & GR_OF_LANES) {
#pragma unroll
            for (unsigned apart = 1; apart < branches; apart *= 2)
#pragma unroll
                for (unsigned j = 0; j < branches; j += 2 * apart)
                    if (row * branches + j + apart < left)
                        x[j] = F::combine(x[j], x[j + apart]);
        } else {
#pragma unroll
            for (unsigned j = 1; j < branches; ++j)
                if (row * branches + j < left)
                    x[0] = F::combine(x[0], x[j]);
        }
        left = (left - 1) / branches + 1;
        if (left == 1)
            return x[0];
        __syncthreads();
        shared[threadIdx.x] = x[0];
        __syncthreads();
#pragma unroll
        for (unsigned j = 0; j < branches; ++j)
            if (row * branches + j < left)
                x[j] = shared[threadIdx.x + (row * (branches - 1) + j) * columns];
    }
}

template <class F> __device__ void reduce_last(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    constexpr unsigned in_flight = GR_LAST_IN_FLIGHT;
    const unsigned along = p.threads_along, columns = GR_GENERAL_THREADS / along;
    const unsigned column = threadIdx.x % columns, row = threadIdx.x / columns;
    pdl_begin(p);
    for (uint64_t first = uint64_t(blockIdx.x) * columns; first < p.results;
         first += uint64_t(gridDim.x) * columns) {
        const uint64_t result = first + column;
        State x = F::identity();
        const State *in = nullptr;
        if (result < p.results) {
            const int64_t at = p.flags & GR_SCATTERED_OUTPUT ? offsets(p.keep, result).in : int64_t(result);
            in = reinterpret_cast<const State *>(p.in) + at;
        }
        if (p.flags & GR_OF_PIECES) {
            x = combine_pieces<F>(p, in, shared, row, columns);
            if (row == 0 && result < p.results)
                put_one<F>(p, result, x);
            __syncthreads(); // the next results use the same memory
            continue;
        }
        if (result < p.results) {
            for (uint64_t k = row; k < p.count; k += in_flight * along) {
                State loaded[in_flight];
#pragma unroll
                for (unsigned j = 0; j < in_flight; ++j)
                    if (k + j * along < p.count)
                        loaded[j] = in[(k + j * along) * p.states];
#pragma unroll
                for (unsigned j = 0; j < in_flight; ++j)
                    if (k + j * along < p.count)
                        x = F::combine(x, loaded[j]);
            }
        }
        if (along > 1)
            shared[threadIdx.x] = x;
        for (unsigned half = along / 2; half > 0; half /= 2) {
            __syncthreads();
            if (row < half)
                shared[threadIdx.x] = x = F::combine(x, shared[threadIdx.x + half * columns]);
        }
        if (row == 0 && result < p.results)
            put_one<F>(p, result, x);
        if (along > 1)
            __syncthreads(); // the next results use the same memory
    }
}

} // namespace gr::reduce
