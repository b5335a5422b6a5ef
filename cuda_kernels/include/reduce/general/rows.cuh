// general_rows: each result comes from runs of contiguous elements, of any length and alignment. A group of
// threads takes a run, 16 bytes per load; several groups share a result that has many runs or long ones.
#pragma once

#include "reduce/general/general.cuh"

namespace gr::reduce {

// Whether A accumulates vectors for this kernel, which then has twice as many in flight.
template <class A, class = void> constexpr bool in_rows = false;
template <class A> constexpr bool in_rows<A, decltype(void(A::in_rows))> = A::in_rows;

// A group's share of a segment, accumulated by A (see reduce/accumulate.cuh). Elements before the first
// 16-byte boundary and behind the last one are taken one by one.
template <class F, class A, class In>
__device__ void add_segment(const In *in, unsigned length, uint64_t position, unsigned lane, unsigned lanes,
                            typename A::Acc &acc, typename F::State &s) {
    constexpr unsigned width = Vec16<In>::length, in_flight = 4;
    const unsigned skew = unsigned((16 - uint64_t(in) % 16) % 16 / sizeof(In));
    const unsigned head = skew < length ? skew : length;
    const unsigned chunks = (length - head) / width, single = length - chunks * width;
    const Vec16<In> *chunk = reinterpret_cast<const Vec16<In> *>(in + head) + lane;
    const uint64_t first = position + head;
    unsigned i = lane;
    if constexpr (in_rows<A>)
        for (; i + (2 * in_flight - 1) * lanes < chunks;
             i += 2 * in_flight * lanes, chunk += 2 * in_flight * lanes) {
            Vec16<In> loaded[2 * in_flight];
#pragma unroll
            for (unsigned k = 0; k < 2 * in_flight; ++k)
                loaded[k] = chunk[k * lanes];
            A::template accumulate_in_row<in_flight>(acc, loaded);
            A::template accumulate_in_row<in_flight>(acc, loaded + in_flight);
        }
    for (; i + (in_flight - 1) * lanes < chunks; i += in_flight * lanes, chunk += in_flight * lanes) {
        Vec16<In> loaded[in_flight];
#pragma unroll
        for (unsigned k = 0; k < in_flight; ++k)
            loaded[k] = chunk[k * lanes];
        A::template accumulate<in_flight>(acc, loaded, first + uint64_t(i) * width, uint64_t(lanes) * width);
    }
    Vec16<In> loaded[in_flight - 1];
#pragma unroll
    for (unsigned k = 0; k < in_flight - 1; ++k)
        if (i + k * lanes < chunks)
            loaded[k] = chunk[k * lanes];
#pragma unroll
    for (unsigned k = 0; k < in_flight - 1; ++k)
        if (i + k * lanes < chunks)
            A::template accumulate<1>(acc, loaded + k, first + uint64_t(i + k * lanes) * width, 0);
    for (i = lane; i < single; i += lanes) {
        const unsigned at = i < head ? i : i + chunks * width;
        s = F::combine(s, F::load(in[at], position + at));
    }
}

template <class F, class = void> constexpr bool adds_up_warps = false;
template <class F> constexpr bool adds_up_warps<F, decltype(void(&F::add_up_warp))> = true;
// Whether a functor has its own reduction of the States of neighbouring lanes.
template <class F, class = void> constexpr bool has_lanes = false;
template <class F> constexpr bool has_lanes<F, decltype(void(&F::of_lanes))> = true;

// The States of `along` neighbouring threads, a power of two, into the State of the first.
template <class F> __device__ typename F::State combine_neighbours(typename F::State x, unsigned along) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS / 32 * GR_STATE_BYTES];
    State *slots = reinterpret_cast<State *>(raw);
    const unsigned warp = threadIdx.x / 32, width = along < 32 ? along : 32;
    if constexpr (adds_up_warps<F>)
        if (along >= 32) { // all of the block share whole warps
            x = F::add_up_warp(x);
            if (along == 32)
                return x;
            if (threadIdx.x % 32 == 0)
                slots[warp] = x;
            __syncthreads();
            const unsigned other = threadIdx.x % along;
            if (other >= 32)
                return x;
            return F::add_up_warp(other < along / 32 ? slots[warp + other] : F::identity());
        }
    if constexpr (has_lanes<F>)
        x = F::of_lanes(x, width);
    else
        for (unsigned offset = width / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, width));
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

template <class F, class In>
constexpr unsigned rows_occupancy = GR_ROWS_OCCUPANCY(occupancy_bytes<F>, sizeof(In));

template <class F, class A, class In> __device__ void reduce_rows(const gr_general_params &p) {
    using State = typename F::State;
    const gr_rows &r = p.rows;
    const unsigned at = threadIdx.x % p.threads_along, groups = p.threads_along / r.lanes;
    const uint64_t result =
        uint64_t(blockIdx.x) * (GR_GENERAL_THREADS / p.threads_along) + threadIdx.x / p.threads_along;
    typename A::Acc acc = A::init();
    State s = F::identity();
    if (result < p.results) {
        const uint64_t base = p.in + offsets(p.keep, result).in;
        pdl_begin(p);
        uint64_t piece = at / r.lanes + uint64_t(groups) * blockIdx.y;
        for (; piece < r.pieces; piece += uint64_t(groups) * gridDim.y) {
            uint64_t run = piece, begin = 0, length = r.run;
            if (r.segments > 1) {
                run = piece / r.segments;
                begin = piece % r.segments * r.segment;
                length = r.run - begin < r.segment ? r.run - begin : r.segment;
            }
            const In *in = reinterpret_cast<const In *>(base + offsets<1>(p.along, run).in) + begin;
            add_segment<F, A>(in, unsigned(length), run * r.run + begin, at % r.lanes, r.lanes, acc, s);
        }
    }
    pdl_as_comments::pdl_launch_dependents();
    const State whole = combine_neighbours<F>(F::combine(A::to_state(acc), s), p.threads_along);
    if (at == 0 && result < p.results)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, whole);
}

} // namespace gr::reduce
