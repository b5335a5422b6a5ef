// general_axis and general_whole: any layout, a `where` mask or pairs of elements. Threads of a block share
// out results and elements, in `axis`, or take whole results; the other kernels are for elements side by
// side.
#pragma once

#include "general_last.cuh"

// How general_axis gets at one State: from an element or a pair of them. A thread has `in_flight` of a result
// on the way; one that takes whole results `at_once` of each.
template <class State> constexpr unsigned whole_at_once = sizeof(State) > 8 ? 2 : 4;
template <class State> constexpr unsigned share_in_flight = sizeof(State) > 8 ? 4 : 8;
template <class F, class In> struct FromElement {
    static constexpr unsigned at_once = whole_at_once<typename F::State>;
    static constexpr unsigned in_flight = share_in_flight<typename F::State>;
    static __device__ typename F::State at(const gr_general_params &p, int64_t in, int64_t second,
                                           uint64_t k) {
        if ((p.flags & GR_HAS_WHERE) && *reinterpret_cast<const uint8_t *>(p.second + second) == 0)
            return F::identity();
        return F::load(*reinterpret_cast<const In *>(p.in + in), k);
    }
};
template <class F, class In> struct FromPair {
    static constexpr unsigned at_once = whole_at_once<typename F::State>;
    static constexpr unsigned in_flight = share_in_flight<typename F::State>;
    static __device__ typename F::State at(const gr_general_params &p, int64_t in, int64_t second, uint64_t) {
        return F::load(*reinterpret_cast<const In *>(p.in + in),
                       *reinterpret_cast<const In *>(p.second + second));
    }
};

// The share of thread number `thread` of a result, several elements at a time.
template <class F, class From>
__device__ typename F::State share(const gr_general_params &p, Offsets base, uint64_t thread) {
    using State = typename F::State;
    constexpr unsigned in_flight = From::in_flight, states = in_flight < 4 ? in_flight : 4;
    const uint64_t length = walk_length(p.along), step = p.walkers;
    const Turns turns(p, thread);
    const Walk start(p.along, turns.first, step);
    State s[states];
#pragma unroll
    for (unsigned j = 0; j < states; ++j)
        s[j] = F::identity();
    for (uint64_t outer = turns.outer; outer * length < p.count; outer += p.groups) {
        const Offsets begin = offsets<2>(p.along, outer);
        const uint64_t done = outer * length;
        Walk walk = start;
        for (uint64_t k = turns.first; k < length; k += in_flight * step) {
            State loaded[in_flight];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j) {
                loaded[j] = F::identity();
                if (k + j * step < length)
                    loaded[j] = From::at(p, base.in + begin.in + walk.at.in,
                                         base.second + begin.second + walk.at.second, done + k + j * step);
                walk.next();
            }
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j)
                s[j % states] = F::combine(s[j % states], loaded[j]);
        }
    }
#pragma unroll
    for (unsigned apart = 1; apart < states; apart *= 2)
#pragma unroll
        for (unsigned j = 0; j < states; j += 2 * apart)
            s[j] = F::combine(s[j], s[j + apart]);
    return s[0];
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
    const uint64_t length = walk_length(p.along);
    for (uint64_t outer = 0, done = 0; done < p.count; ++outer, done += length) {
        const Offsets begin = offsets<2>(p.along, outer);
        Walk walk(p.along, 0, 1);
        for (uint64_t k = 0; k < length; k += at_once) {
            State loaded[at_once][GR_TOGETHER];
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i) {
                const int64_t in = begin.in + walk.at.in, second = begin.second + walk.at.second;
                if (k + i < length)
#pragma unroll
                    for (unsigned j = 0; j < GR_TOGETHER; ++j)
                        loaded[i][j] = From::at(p, base[j].in + in, base[j].second + second, done + k + i);
                walk.next();
            }
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i)
                if (k + i < length)
#pragma unroll
                    for (unsigned j = 0; j < GR_TOGETHER; ++j)
                        s[j] = F::combine(s[j], loaded[i][j]);
        }
    }
    const uint64_t behind = first < p.results ? (p.results - first - 1) / GR_GENERAL_THREADS + 1 : 0;
    put_all<F>(p, first, GR_GENERAL_THREADS, behind < GR_TOGETHER ? unsigned(behind) : GR_TOGETHER, s,
               puts_results(p));
}

// Blocks that a multiprocessor must have registers for.
template <class F> constexpr unsigned axis_blocks = sizeof(typename F::State) > 8 ? 2 : 3;

template <class F, class From> __device__ void reduce_axis(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * GR_STATE_BYTES];
    State *slots = reinterpret_cast<State *>(raw);
    const unsigned along_threads = p.threads_along, columns = GR_GENERAL_THREADS / along_threads;
    const bool along_first = p.flags & GR_ALONG_FIRST;
    const unsigned along = along_first ? threadIdx.x % along_threads : threadIdx.x / columns;
    const unsigned column = along_first ? threadIdx.x / along_threads : threadIdx.x % columns;
    const uint64_t result = uint64_t(blockIdx.x) * columns + column;

    State x = F::identity();
    if (result < p.results)
        x = share<F, From>(p, offsets(p.keep, result), along + uint64_t(along_threads) * blockIdx.y);
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
        put<F>(p, result, x, puts_results(p));
    const uint64_t begin = uint64_t(blockIdx.x) * columns;
    gather<F>(p, begin, begin + columns);
}
