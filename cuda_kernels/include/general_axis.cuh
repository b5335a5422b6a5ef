// general_axis: any layout, a `where` mask or pairs of elements. Threads of a block share out results and
// elements; general_rows, general_columns and general_tiles are for elements that lie side by side.
#pragma once

#include "general.cuh"
#include "general_offsets.cuh"

// How general_axis gets at one State: from an element or a pair of them. A thread that takes whole results
// loads `at_once` elements of each together.
template <class State> constexpr unsigned whole_at_once = sizeof(State) > 8 ? 2 : 4;
template <class F, class In> struct FromElement {
    static constexpr unsigned at_once = whole_at_once<typename F::State>;
    static __device__ typename F::State at(const gr_general_params &p, int64_t in, int64_t second,
                                           uint64_t k) {
        if ((p.flags & GR_HAS_WHERE) && *reinterpret_cast<const uint8_t *>(p.second + second) == 0)
            return F::identity();
        return F::load(*reinterpret_cast<const In *>(p.in + in), k);
    }
};
template <class F, class In> struct FromPair {
    static constexpr unsigned at_once = whole_at_once<typename F::State>;
    static __device__ typename F::State at(const gr_general_params &p, int64_t in, int64_t second, uint64_t) {
        return F::load(*reinterpret_cast<const In *>(p.in + in),
                       *reinterpret_cast<const In *>(p.second + second));
    }
};

// One thread's share of a result: every `step`-th element from `first` on, four at a time.
template <class F, class From>
__device__ typename F::State share(const gr_general_params &p, Offsets base, uint64_t first, uint64_t step) {
    using State = typename F::State;
    State s[4] = {F::identity(), F::identity(), F::identity(), F::identity()};
    uint64_t k = first;
    if (p.along.extent[2] == 1) {
        Walk walk(p.along, first, step);
        for (; k < p.count; k += 4 * step) {
            State loaded[4];
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) {
                loaded[j] = F::identity();
                if (k + j * step < p.count)
                    loaded[j] = From::at(p, base.in + walk.at.in, base.second + walk.at.second, k + j * step);
                walk.next();
            }
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                s[j] = F::combine(s[j], loaded[j]);
        }
    }
    for (; k < p.count; k += step) {
        const Offsets at = offsets(p.along, k);
        s[0] = F::combine(s[0], From::at(p, base.in + at.in, base.second + at.second, k));
    }
    return F::combine(F::combine(s[0], s[1]), F::combine(s[2], s[3]));
}

// Results enough for all threads: each takes several whole ones, GR_GENERAL_THREADS apart, and a few elements
// of each at a time, or it would wait for one load after the other.
template <class F, class From> __device__ void reduce_whole(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned at_once = From::at_once;
    const uint64_t first = uint64_t(blockIdx.x) * (GR_GENERAL_THREADS * GR_TOGETHER) + threadIdx.x;
    State s[GR_TOGETHER];
    Offsets base[GR_TOGETHER];
#pragma unroll
    for (unsigned j = 0; j < GR_TOGETHER; ++j) {
        const uint64_t result = first + j * GR_GENERAL_THREADS;
        base[j] = offsets(p.keep, result < p.results ? result : p.results - 1);
        s[j] = F::identity();
    }
    Walk walk(p.along, 0, 1);
    for (uint64_t k = 0; k < p.count; k += at_once) {
        State loaded[at_once][GR_TOGETHER];
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i) {
            if (k + i < p.count)
#pragma unroll
                for (unsigned j = 0; j < GR_TOGETHER; ++j)
                    loaded[i][j] =
                        From::at(p, base[j].in + walk.at.in, base[j].second + walk.at.second, k + i);
            walk.next();
        }
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i)
            if (k + i < p.count)
#pragma unroll
                for (unsigned j = 0; j < GR_TOGETHER; ++j)
                    s[j] = F::combine(s[j], loaded[i][j]);
    }
#pragma unroll
    for (unsigned j = 0; j < GR_TOGETHER; ++j)
        if (first + j * GR_GENERAL_THREADS < p.results)
            put<F>(p, first + j * GR_GENERAL_THREADS, s[j]);
}

template <class F, class From> __device__ void reduce_axis(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * GR_STATE_BYTES];
    State *slots = reinterpret_cast<State *>(raw);
    if (p.flags & GR_WHOLE) {
        reduce_whole<F, From>(p);
        return;
    }
    const unsigned along_threads = p.threads_along, columns = GR_GENERAL_THREADS / along_threads;
    const bool along_first = p.flags & GR_ALONG_FIRST;
    const unsigned along = along_first ? threadIdx.x % along_threads : threadIdx.x / columns;
    const unsigned column = along_first ? threadIdx.x / along_threads : threadIdx.x % columns;
    const uint64_t result = uint64_t(blockIdx.x) * columns + column;

    State x = F::identity();
    if (result < p.results)
        x = share<F, From>(p, offsets(p.keep, result), along + uint64_t(along_threads) * blockIdx.y,
                           uint64_t(along_threads) * gridDim.y);
    if (along_first && along_threads <= 32) {
        for (unsigned offset = along_threads / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, along_threads));
    } else {
        slots[threadIdx.x] = x;
        const unsigned apart = along_first ? 1 : columns; // slots between neighbours of one result
        for (unsigned half = along_threads / 2; half > 0; half /= 2) {
            __syncthreads();
            if (along < half)
                slots[threadIdx.x] = x = F::combine(x, slots[threadIdx.x + half * apart]);
        }
    }
    if (along == 0 && result < p.results)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, x);
}
