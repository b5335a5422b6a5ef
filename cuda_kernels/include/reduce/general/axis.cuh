// general_axis and general_whole: the kernels for any layout, for pairs of elements and, except for `whole`,
// for a `where` mask. The threads of a block share results and elements (`axis`), or each takes whole
// results. The other general kernels are for contiguous elements or results.
#pragma once

#include "reduce/general/lanes.cuh"

namespace gr::reduce {

// How general_axis loads elements: what a thread holds of an element in flight, and the State with that
// element. A thread has `in_flight` elements of a result in flight; one that takes whole results `at_once` of
// each. All loads are issued before the first computation. `second`: whether it reads a second input.
template <class F, class In> struct FromElement {
    static constexpr bool second = false;
    static constexpr bool is_batch = is_ordered<F> && BatchAccumulator<F, In>::there;
    static constexpr unsigned at_once =
        (sizeof(In) > 8 || (occupancy_bytes<F> > 8 && !(BatchAccumulator<F, In>::contest && sizeof(In) > 2))
             ? 2
             : 4) *
        (sizeof(In) > 2 ? 1 : 2);
    static constexpr unsigned batch = is_batch ? batch_size<F, In> : 1;
    static constexpr unsigned in_flight =
        (sizeof(In) > 8 || sizeof(typename F::State) > 16) && batch < 8 ? 4 : 8;
    static constexpr bool in_lanes = is_ordered<F>;
    using All = BatchAccumulator<F, In>;
    // For small elements that are compared in batches this was slower by two thirds.
    static constexpr bool whole_together = All::there && !(All::contest && sizeof(In) <= 2);
    struct Loaded {
        In x;
    };
    static __device__ Loaded fetch(const gr_general_params &p, int64_t in, int64_t) {
        return {*reinterpret_cast<const In *>(p.in + in)};
    }
    static __device__ typename F::State add(typename F::State s, const Loaded &loaded, uint64_t k) {
        return Append<F, In>::to(s, loaded.x, k);
    }
    // The State of lane number `number`. `from`: the offset of its first element.
    static __device__ typename F::State lane(const gr_general_params &p, const Offsets &from,
                                             uint64_t number) {
        constexpr unsigned many = batch > in_flight ? batch : in_flight;
        constexpr unsigned at_a_time = sizeof(typename F::State) <= 8 && sizeof(In) <= 4 ? 16 : many;
        return lane_of<F, In, at_a_time>(p.in + uint64_t(from.in), p.lanes.step,
                                         p.lanes.each + (number < p.lanes.rest),
                                         [](uint64_t at) { return *reinterpret_cast<const In *>(at); });
    }
};
// What other loaders have in common unless they say otherwise: elements are taken one after the other, and
// come with something from a second input.
struct OneByOne {
    static constexpr bool second = true, whole_together = false, in_lanes = false;
    static constexpr unsigned at_once = 1, in_flight = 4, batch = 1;
    using All = BatchAccumulator<void, void>;
};
// The same under a `where` mask.
template <class F, class In> struct FromMasked : OneByOne { // the first element in flight may not be taken
    struct Loaded {
        In x;
        uint8_t taken;
    };
    static __device__ Loaded fetch(const gr_general_params &p, int64_t in, int64_t second) {
        return {*reinterpret_cast<const In *>(p.in + in),
                *reinterpret_cast<const uint8_t *>(p.second + second)};
    }
    static __device__ typename F::State add(typename F::State s, const Loaded &loaded, uint64_t k) {
        return loaded.taken ? Append<F, In>::to(s, loaded.x, k) : s;
    }
};
// The element loader that replaces it under a mask.
template <class From> struct UnderMask { static constexpr bool there = false; };
template <class F, class In> struct UnderMask<FromElement<F, In>> {
    static constexpr bool there = true;
    using type = FromMasked<F, In>;
};

template <class F, class In> struct FromPair : OneByOne {
    static constexpr bool in_lanes = is_ordered<F>;
    static constexpr unsigned at_once = 2, in_flight = sizeof(In) > 8 ? 2 : 4;
    struct Loaded {
        In x, y;
    };
    static __device__ Loaded fetch(const gr_general_params &p, int64_t in, int64_t second) {
        return {*reinterpret_cast<const In *>(p.in + in), *reinterpret_cast<const In *>(p.second + second)};
    }
    static __device__ typename F::State add(typename F::State s, const Loaded &loaded, uint64_t) {
        return F::combine(s, F::load(loaded.x, loaded.y));
    }
    // As in FromElement.
    static __device__ typename F::State lane(const gr_general_params &p, Offsets from, uint64_t number) {
        constexpr unsigned at_a_time = sizeof(In) * sizeof(typename F::State) > 128 ? 4 : 8;
        typename F::State s = F::identity();
        uint64_t left = p.lanes.each + (number < p.lanes.rest);
#pragma unroll 1
        while (left > 0) {
            const unsigned turn = left < at_a_time ? unsigned(left) : at_a_time;
            Loaded loaded[at_a_time];
#pragma unroll
            for (unsigned j = 0; j < at_a_time; ++j) {
                if (j < turn)
                    loaded[j] = fetch(p, from.in, from.second);
                from.in += p.iterator.increment;
                from.second += p.iterator.second_increment;
            }
#pragma unroll
            for (unsigned j = 0; j < at_a_time; ++j)
                if (j < turn)
                    s = add(s, loaded[j], 0);
            left -= turn;
        }
        return s;
    }
};

// Accumulates the first `turn` of N elements, `step` positions apart, in several States in turn.
template <class From, class State, unsigned States, unsigned N>
__device__ void take_in(State (&s)[States], const typename From::Loaded (&loaded)[N], unsigned turn,
                        uint64_t position, uint64_t step) {
    using All = typename From::All;
    if constexpr (From::batch > 1) {
#pragma unroll
        for (unsigned i = 0; i < N; i += From::batch)
            if (i < turn)
                s[0] = All::template add<From::batch>(
                    s[0], [&](unsigned j) { return loaded[i + j].x; },
                    [&](unsigned j) { return i + j < turn; }, position, step);
    } else if constexpr (All::there) {
        s[0] = All::template add<N>(
            s[0], [&](unsigned j) { return loaded[j].x; }, [&](unsigned j) { return j < turn; }, position,
            step);
    } else {
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            if (j < turn)
                s[j % States] = From::add(s[j % States], loaded[j], position + j * step);
    }
}

// The share of thread number `thread` of a result, several elements at a time, in several States in turn.
template <class F, class From>
__device__ typename F::State share(const gr_general_params &p, uint64_t result, uint64_t thread) {
    using State = typename F::State;
    const Offsets base = offsets(p.keep, result);
    constexpr unsigned in_flight = From::in_flight, states = From::All::there || is_ordered<F> ? 1
                                                             : in_flight < 4                   ? in_flight
                                                                                               : 4;
    const uint64_t length = walk_length(p.along), step = p.iterator.step;
    const ThreadShare turns(p, thread);
    const uint64_t all = turns.first < length ? steps_in(p.iterator, length - turns.first - 1) + 1 : 0;
    const bool evenly = p.iterator.step_remainder == 0 || p.iterator.extent == ~uint64_t(0);
    State s[states];
#pragma unroll
    for (unsigned j = 0; j < states; ++j)
        s[j] = F::identity();
    pdl_begin(p);
#pragma unroll 1
    for (uint64_t outer = turns.outer; outer * length < p.count; outer += p.groups) {
        const Offsets behind = offsets<2>(p.along, outer);
        uint64_t position = outer * length + turns.first, left = all;
        Walk<From::second> walk(p, turns.first);
        walk.at.in += base.in + behind.in;
        walk.at.second += From::second ? base.second + behind.second : 0;
#pragma unroll 1
        while (evenly && left >= in_flight) { // nothing in between the loads
            typename From::Loaded loaded[in_flight];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j) {
                loaded[j] = From::fetch(p, walk.at.in, walk.at.second);
                walk.next_evenly(p.iterator);
            }
            take_in<From>(s, loaded, in_flight, position, step);
            position += in_flight * step;
            left -= in_flight;
        }
#pragma unroll 1
        while (left > 0) {
            const unsigned turn = left < in_flight ? unsigned(left) : in_flight;
            typename From::Loaded loaded[in_flight];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j) {
                if (j < turn)
                    loaded[j] = From::fetch(p, walk.at.in, walk.at.second);
                walk.next(p.iterator);
            }
            take_in<From>(s, loaded, turn, position, step);
            position += in_flight * step;
            left -= turn;
        }
    }
    if constexpr (!is_ordered<F>)
        pdl_as_comments::pdl_launch_dependents();
#pragma unroll
    for (unsigned apart = 1; apart < states; apart *= 2)
#pragma unroll
        for (unsigned j = 0; j < states; j += 2 * apart)
            s[j] = F::combine(s[j], s[j + apart]);
    return s[0];
}

// With enough results for all threads each thread takes several whole results, GR_GENERAL_THREADS apart, and
// a few elements of each at a time, so that several loads are in flight.
template <class F, class From> __device__ void reduce_whole(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned at_once = From::at_once;
    const uint64_t first = uint64_t(blockIdx.x) * (GR_GENERAL_THREADS * GR_RESULTS_PER_THREAD) + threadIdx.x;
    State s[GR_RESULTS_PER_THREAD];
    Offsets base[GR_RESULTS_PER_THREAD];
#pragma unroll 1
    for (unsigned each = 0; each < GR_RESULTS_PER_THREAD; ++each) { // once in the code, as it is long
        const uint64_t result = first + each * GR_GENERAL_THREADS;
        const Offsets at = offsets(p.keep, result < p.results ? result : p.results - 1);
#pragma unroll
        for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
            base[j] = each == j ? at : base[j];
    }
#pragma unroll
    for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
        s[j] = F::identity();
    const uint64_t length = walk_length(p.along);
    pdl_begin(p);
    for (uint64_t outer = 0, done = 0; done < p.count; ++outer, done += length) {
        const Offsets begin = offsets<2>(p.along, outer);
        Walk<From::second> walk(p, 0);
        for (uint64_t k = 0; k < length; k += at_once) {
            typename From::Loaded loaded[GR_RESULTS_PER_THREAD][at_once];
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i) {
                const int64_t in = begin.in + walk.at.in, second = begin.second + walk.at.second;
                if (k + i < length)
#pragma unroll
                    for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
                        loaded[j][i] = From::fetch(p, base[j].in + in, base[j].second + second);
                walk.next(p.iterator);
            }
            if constexpr (From::whole_together) {
#pragma unroll
                for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
                    s[j] = From::All::template add<at_once>(
                        s[j], [&](unsigned i) { return loaded[j][i].x; },
                        [&](unsigned i) { return k + i < length; }, done + k, 1);
            } else {
#pragma unroll
                for (unsigned i = 0; i < at_once; ++i)
                    if (k + i < length)
#pragma unroll
                        for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
                            s[j] = From::add(s[j], loaded[j][i], done + k + i);
            }
        }
    }
    pdl_as_comments::pdl_launch_dependents();
    unsigned live = 0;
#pragma unroll
    for (unsigned j = 0; j < GR_RESULTS_PER_THREAD; ++j)
        live |= unsigned(first + j * GR_GENERAL_THREADS < p.results) << j;
    put_all<F>(p, live, s, [&](unsigned j) { return first + j * GR_GENERAL_THREADS; });
}

// Blocks per multiprocessor that registers must allow.
template <class F>
constexpr unsigned axis_occupancy = GR_AXIS_OCCUPANCY(occupancy_bytes<F>) > 3 && is_ordered<F>
                                        ? 3
                                        : GR_AXIS_OCCUPANCY(occupancy_bytes<F>);
template <class In> constexpr unsigned pair_axis_occupancy = sizeof(In) > 4 ? 2 : 3;
template <class F> constexpr unsigned whole_blocks = occupancy_bytes<F> > 8 ? 2 : 3;

template <class F, class From> __device__ void reduce_axis(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * GR_STATE_BYTES];
    State *slots = reinterpret_cast<State *>(raw);
    const unsigned along_threads = p.threads_along, columns = GR_GENERAL_THREADS / along_threads;
    const bool along_first = p.flags & GR_COALESCE_ALONG_REDUCED;
    const unsigned along = along_first ? threadIdx.x % along_threads : threadIdx.x / columns;
    const unsigned column = along_first ? threadIdx.x / along_threads : threadIdx.x % columns;
    const uint64_t result = uint64_t(blockIdx.x) * columns + column;
    const bool active = result < p.results;

    State x = F::identity();
    if (active) {
        const bool masked = UnderMask<From>::there && p.flags & GR_HAS_WHERE;
        State own[1];
        const uint64_t first = (along + uint64_t(along_threads) * blockIdx.y) * lanes_of_thread<F>(p);
        Offsets start = {};
        if constexpr (From::in_lanes) {
            start = offsets(p.keep, result);
            start.in += int64_t(first) * p.along.stride[0];
            start.second += int64_t(first) * p.along.second_stride[0];
            pdl_begin(p);
        }
        tree_of_lanes<F>(lanes_of_thread<F>(p), own, [&](unsigned j, State(&lane)[1]) {
            if constexpr (From::in_lanes)
                if (!masked && p.flags & GR_IN_LANES) {
                    lane[0] = From::lane(
                        p, {start.in + j * p.along.stride[0], start.second + j * p.along.second_stride[0]},
                        first + j);
                    return;
                }
            if (!masked)
                lane[0] = share<F, From>(p, result, first + j);
            if constexpr (UnderMask<From>::there)
                if (masked)
                    lane[0] = share<F, typename UnderMask<From>::type>(p, result, first + j);
        });
        x = own[0];
    }
    if constexpr (is_ordered<F>)
        pdl_as_comments::pdl_launch_dependents();
    if (along_first && along_threads <= 32) {
        x = combine_neighbours<F>(x, along_threads, is_ordered<F>);
    } else {
        slots[threadIdx.x] = x;
        const unsigned apart = along_first ? 1 : columns; // slots between neighbours of one result
        if constexpr (is_ordered<F>) {
            State *const first = slots + threadIdx.x - along * apart;
            for (unsigned step = apart, half = along_threads / 2; half > 0; half /= 2, step *= 2) {
                __syncthreads();
                State *const mine = first + 2 * along * step;
                if (along < half)
                    *mine = x = F::combine(*mine, mine[step]);
            }
        } else {
            for (unsigned half = along_threads / 2; half > 0; half /= 2) {
                __syncthreads();
                if (along < half)
                    slots[threadIdx.x] = x = F::combine(x, slots[threadIdx.x + half * apart]);
            }
        }
    }
    if (along == 0 && active)
        put_one<F>(p, result, x);
}

} // namespace gr::reduce
