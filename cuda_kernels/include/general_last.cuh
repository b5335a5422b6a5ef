// Results from States that other blocks have put, p.count or gridDim.y rows of them: by the last of these
// blocks (gather), or by a launch of its own, general_last, where some results are the same, along an axis
// that repeats its elements, so that several are made from one row of States.
#pragma once

#include "general.cuh"

// Room for the States of a block's threads.
template <class State> struct BlockStates {
    State *all;
    __device__ BlockStates() {
        __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(State)];
        all = reinterpret_cast<State *>(raw);
    }
};

// Makes results number `begin` to `end` from States: `rows` rows of `length`, at(result) in each of them.
template <class F, class At>
__device__ void combine_rows(const gr_general_params &p, uint64_t from, uint64_t rows, uint64_t length,
                             uint64_t begin, uint64_t end, const At &at) {
    using State = typename F::State;
    constexpr unsigned in_flight = GR_LAST_IN_FLIGHT;
    const BlockStates<State> shared;
    const unsigned along = p.gather_along, columns = GR_GENERAL_THREADS / along;
    const unsigned column = threadIdx.x % columns, row = threadIdx.x / columns;
    for (uint64_t first = begin; first < end; first += columns) {
        const uint64_t result = first + column;
        State x = F::identity();
        if (result < end) {
            const State *in = reinterpret_cast<const State *>(from) + at(result);
            for (uint64_t k = row; k < rows; k += in_flight * along) {
                State loaded[in_flight];
#pragma unroll
                for (unsigned j = 0; j < in_flight; ++j)
                    if (k + j * along < rows)
                        loaded[j] = in[(k + j * along) * length];
#pragma unroll
                for (unsigned j = 0; j < in_flight; ++j)
                    if (k + j * along < rows)
                        x = F::combine(x, loaded[j]);
            }
        }
        __syncthreads();
        shared.all[threadIdx.x] = x;
        for (unsigned half = along / 2; half > 0; half /= 2) {
            __syncthreads();
            if (row < half)
                shared.all[threadIdx.x] = x = F::combine(x, shared.all[threadIdx.x + half * columns]);
        }
        if (row == 0 && result < end)
            put<F>(p, result, x, true);
    }
}

// Whether this block is the last of those that share results to have put its States, for all threads.
inline __device__ bool is_last(const gr_general_params &p) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last =
            atomicInc(reinterpret_cast<unsigned *>(p.tickets) + blockIdx.x, gridDim.y - 1) == gridDim.y - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// All threads of a block have put States of results number `begin` to `end`: its last block makes the
// results.
template <class F> __device__ void gather(const gr_general_params &p, uint64_t begin, uint64_t end) {
    if (p.tickets != 0 && is_last(p))
        combine_rows<F>(p, p.partial, gridDim.y, p.results, begin, end < p.results ? end : p.results,
                        [](uint64_t result) { return result; });
}

template <class F> __device__ void reduce_last(const gr_general_params &p) {
    const unsigned columns = GR_GENERAL_THREADS / p.gather_along;
    const uint64_t begin = uint64_t(blockIdx.x) * columns, left = p.results - begin;
    combine_rows<F>(p, p.in, p.count, p.states, begin, begin + (left < columns ? left : columns),
                    [&](uint64_t result) { return offsets(p.keep, result).in; });
}
