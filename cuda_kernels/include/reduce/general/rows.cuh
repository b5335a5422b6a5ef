// general_rows: each result comes from runs of contiguous elements, of any length and alignment, 16 bytes per
// load and thread. The bits of a result follow from its elements and its own layout, since their order does:
//   run     vector number i is for thread i % lanes, at any alignment
//   step    r.loads vectors per thread, of one run or, if runs are short, of several side by side
//   part    r.part_steps steps: each thread combines its States of them in order, then the threads combine
//           theirs. The same threads take all steps, or other ones each
//   result  the parts, combined as a balanced binary tree whose leaves are in order: a warp, a block and
//           general_last each combine aligned powers of two of them
#pragma once

#include "reduce/general/general.cuh"

namespace gr::reduce {

// Whether A accumulates vectors for this kernel, which then has twice as many in flight.
template <class A, class = void> constexpr bool in_rows = false;
template <class A> constexpr bool in_rows<A, decltype(void(A::in_rows))> = A::in_rows;

// The vector at an address that is a multiple of the size of an element.
template <class In> __device__ Vec16<In> vec16_of_elements(uint64_t from) {
    Vec16<In> x;
    if constexpr (sizeof(In) >= 8) {
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            const uint64_t half = reinterpret_cast<const uint64_t *>(from)[i];
            x.set_word(2 * i, uint32_t(half));
            x.set_word(2 * i + 1, uint32_t(half >> 32));
        }
        return x;
    }
    if (from % 4 == 0) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            x.set_word(i, reinterpret_cast<const uint32_t *>(from)[i]);
        return x;
    }
    if constexpr (sizeof(In) < 4) { // words of which the first and the last are read in part
        using Element = typename Bits<sizeof(In)>::type;
        const unsigned before = unsigned(from % 4), shift = 8 * before;
        uint32_t word = 0, last = 0;
#pragma unroll
        for (unsigned e = 1; e < 4 / sizeof(In); ++e) {
            constexpr unsigned bits = 8 * sizeof(In);
            if (e * sizeof(In) >= before)
                word |= uint32_t(*reinterpret_cast<const Element *>(from - before + e * sizeof(In)))
                        << e * bits;
            if ((e - 1) * sizeof(In) < before)
                last |=
                    uint32_t(*reinterpret_cast<const Element *>(from - before + 16 + (e - 1) * sizeof(In)))
                    << (e - 1) * bits;
        }
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const uint32_t next = i == 3 ? last : reinterpret_cast<const uint32_t *>(from - before)[i + 1];
            x.set_word(i, __funnelshift_r(word, next, shift));
            word = next;
        }
    }
    return x;
}

// The vector at an address, `Aligned` or not.
template <class In, bool Aligned> __device__ Vec16<In> row_vec16(uint64_t from) {
    if constexpr (Aligned)
        return *reinterpret_cast<const Vec16<In> *>(from);
    else
        return vec16_of_elements<In>(from);
}

// Vectors from address `from` on, `apart` bytes from one to the next: those for which there(k) is true.
template <bool Aligned, unsigned N, class In, class There>
__device__ void load_row(Vec16<In> (&loaded)[N], uint64_t from, unsigned apart, const There &there) {
#pragma unroll
    for (unsigned k = 0; k < N; ++k)
        if (there(k))
            loaded[k] = row_vec16<In, Aligned>(from + k * apart);
}

// The vectors of one step, all there, accumulated by A (see reduce/accumulate.cuh).
template <class A, class In, bool Aligned>
__device__ typename A::State of_step(uint64_t from, unsigned apart, unsigned loads, uint64_t position) {
    constexpr unsigned in_flight = GR_ROW_LOADS;
    const auto all = [](unsigned) { return true; };
    typename A::Acc acc = A::init();
    if constexpr (in_rows<A>) {
        Vec16<In> loaded[2 * in_flight];
        load_row<Aligned>(loaded, from, apart, all);
        A::template accumulate_in_row<in_flight>(acc, loaded);
        A::template accumulate_in_row<in_flight>(acc, loaded + in_flight);
    } else {
        const unsigned elements = apart / unsigned(sizeof(In));
#pragma unroll 1
        for (unsigned k = 0; k < loads; k += in_flight) {
            Vec16<In> loaded[in_flight];
            load_row<Aligned>(loaded, from + k * apart, apart, all);
            A::template accumulate<in_flight>(acc, loaded, position + k * elements, elements);
        }
    }
    return A::to_state(acc);
}

// The last elements of a run, which are no whole step.
template <class F, class A, class In, bool Aligned>
__device__ typename F::State of_rest(uint64_t in, unsigned length, unsigned lane, unsigned lanes,
                                     uint64_t position) {
    constexpr unsigned width = Vec16<In>::length, in_flight = GR_ROW_LOADS;
    const unsigned chunks = length / width, single = length % width;
    const unsigned apart = 16 * lanes;
    uint64_t from = in + 16 * lane;
    typename A::Acc acc = A::init();
    unsigned i = lane;
    for (; i + (in_flight - 1) * lanes < chunks; i += in_flight * lanes, from += in_flight * apart) {
        Vec16<In> loaded[in_flight];
        load_row<Aligned>(loaded, from, apart, [](unsigned) { return true; });
        A::template accumulate<in_flight>(acc, loaded, position + uint64_t(i) * width,
                                          uint64_t(lanes) * width);
    }
    if (i < chunks) {
        Vec16<In> loaded[in_flight - 1];
        const auto there = [&](unsigned k) { return i + k * lanes < chunks; };
        load_row<Aligned>(loaded, from, apart, there);
#pragma unroll
        for (unsigned k = 0; k < in_flight - 1; ++k)
            if (there(k))
                A::template accumulate<1>(acc, loaded + k, position + uint64_t(i + k * lanes) * width, 0);
    }
    typename F::State s = A::to_state(acc);
    for (i = lane; i < single; i += lanes) {
        const unsigned at = i + chunks * width;
        s = F::combine(s, F::load(reinterpret_cast<const In *>(in)[at], position + at));
    }
    return s;
}

// The place of a thread in a step: its lane in a run, and the number of the run among `runs` side by side.
struct RowPlace {
    unsigned lane, run, runs;
};

// A thread's share of steps number `step` to before `end`, up to a part, of the result whose first element is
// at `base`.
template <class F, class A, class In, bool Aligned>
__device__ typename F::State add_steps_of(const gr_general_params &p, uint64_t base, const RowPlace &place,
                                          uint64_t step, uint64_t end) {
    using State = typename F::State;
    const gr_rows &r = p.rows;
    State x = F::identity();
    bool has = false;
    for (unsigned left = unsigned(end - step); left > 0;) {
        uint64_t run = place.run, at = step;
        if (r.run_steps < r.steps) {
            const uint64_t turn = quotient(step, r.run_steps, r.by_run_steps);
            at -= turn * r.run_steps;
            run += turn * place.runs;
        }
        const unsigned here = r.run_steps - at < left ? unsigned(r.run_steps - at) : left;
        unsigned whole = r.full_steps < at + here ? unsigned(r.full_steps - at) : here;
        const bool has_rest = whole < here;
        step += here;
        left -= here;
        if (run >= r.runs)
            break;
        const uint64_t in = base + uint64_t(offsets<1>(p.along, run).in);
        uint64_t from = in + at * r.step_bytes + 16 * place.lane;
        uint64_t position = run * r.run + at * (r.step_bytes / sizeof(In)) + place.lane * Vec16<In>::length;
#pragma unroll 1
        for (; whole > 0; --whole) {
            const State more = of_step<A, In, Aligned>(from, 16 * r.lanes, r.loads, position);
            x = has ? F::combine(x, more) : more;
            has = true;
            from += r.step_bytes;
            position += r.step_bytes / sizeof(In);
        }
        if (has_rest) {
            const uint64_t done = r.full_steps * (r.step_bytes / sizeof(In));
            const State more = of_rest<F, A, In, Aligned>(in + done * sizeof(In), unsigned(r.run - done),
                                                          place.lane, r.lanes, run * r.run + done);
            x = has ? F::combine(x, more) : more;
            has = true;
        }
    }
    return x;
}

// Loads that depend on the alignment would wait for each other: there are two kinds of loops.
template <class F, class A, class In>
__device__ typename F::State add_steps(const gr_general_params &p, uint64_t base, const RowPlace &place,
                                       uint64_t step, uint64_t end) {
    if (p.flags & GR_UNALIGNED_ROWS)
        return add_steps_of<F, A, In, false>(p, base, place, step, end);
    return add_steps_of<F, A, In, true>(p, base, place, step, end);
}

template <class F, class = void> constexpr bool adds_up_warps = false;
template <class F> constexpr bool adds_up_warps<F, decltype(void(&F::add_up_warp))> = true;
// Whether a functor has its own reduction of the States of neighbouring lanes.
template <class F, class = void> constexpr bool has_lanes = false;
template <class F> constexpr bool has_lanes<F, decltype(void(&F::of_lanes))> = true;

// The States of `width` neighbouring threads, a power of two up to a warp, into the State of the first.
template <class F> __device__ typename F::State combine_lanes(typename F::State x, unsigned width) {
    if constexpr (adds_up_warps<F>)
        if (width == 32)
            return F::add_up_warp(x);
    if constexpr (has_lanes<F>) {
        return F::of_lanes(x, width);
    } else {
        for (unsigned offset = width / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, width));
        return x;
    }
}

template <class F, class In>
constexpr unsigned rows_occupancy = GR_ROWS_OCCUPANCY(sizeof(typename F::State), sizeof(In));

// The work of a thread: steps from `first` to before `end`.
struct RowSteps {
    unsigned width, group, groups; // threads per step; number of this thread's among those of the result
    uint64_t first, end;

    __device__ explicit RowSteps(const gr_general_params &p) {
        const gr_rows &r = p.rows;
        width = r.width;
        groups = p.threads_along / width;
        group = threadIdx.x % p.threads_along / width;
        const uint64_t each = r.together ? 1 : uint64_t(r.each) * r.part_steps;
        first = blockIdx.y * (r.together ? r.part_steps : each * groups) + group * each;
        end = r.steps < first + each ? r.steps : first + each;
    }
};

// From what each group of threads has of a part to the State of all, in the first thread.
template <class F>
__device__ typename F::State combine_steps(const gr_general_params &p, typename F::State *slots,
                                           typename F::State x, const RowSteps &steps,
                                           const RowPlace &place) {
    const gr_rows &r = p.rows;
    slots[threadIdx.x] = x;
    __syncthreads();
    const unsigned at = threadIdx.x % p.threads_along;
    if (at >= 32)
        return x;
    if (at < steps.width)
#pragma unroll 1
        for (unsigned group = 1; group < steps.groups; ++group) {
            const uint64_t step = steps.first + group;
            const uint64_t turn = r.run_steps < r.steps ? quotient(step, r.run_steps, r.by_run_steps) : 0;
            if (step < r.steps && turn * place.runs + place.run < r.runs)
                x = F::combine(x, slots[threadIdx.x + group * steps.width]);
        }
    return combine_lanes<F>(x, steps.width);
}

// The same where each group is a warp, with parts of its own.
template <class F>
__device__ typename F::State combine_warps(const gr_general_params &p, typename F::State *slots,
                                           typename F::State x, const RowSteps &steps) {
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0)
        slots[threadIdx.x] = x;
    __syncthreads();
    if (steps.group != 0)
        return x;
    if (lane < steps.groups)
        x = slots[threadIdx.x + 31 * lane];
    for (unsigned apart = 1; apart < steps.groups; apart *= 2) {
        const typename F::State next = shuffle_down(x, apart);
        const bool there = steps.first + (lane + apart) * (steps.end - steps.first) < p.rows.steps;
        if (lane % (2 * apart) == 0 && there)
            x = F::combine(x, next);
    }
    return x;
}

template <class F, class A, class In> __device__ void reduce_rows(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * sizeof(State)];
    State *const slots = reinterpret_cast<State *>(raw);
    const gr_rows &r = p.rows;
    const RowSteps steps(p);
    const RowPlace place = {threadIdx.x % r.lanes, threadIdx.x % steps.width / r.lanes,
                            steps.width / r.lanes};
    const uint64_t result =
        uint64_t(blockIdx.x) * (GR_GENERAL_THREADS / p.threads_along) + threadIdx.x / p.threads_along;
    const bool active = result < p.results;
    const uint64_t base = p.in + uint64_t(offsets(p.keep, active ? result : 0).in);
    pdl_begin(p);

    State x = F::identity();
    State *const waiting = slots + threadIdx.x / 32 * 32; // States of decreasing powers of two of parts
    unsigned count = 0;
    uint64_t step = steps.first;
#pragma unroll 1
    for (unsigned part = 1; step < steps.end; ++part) {
        const uint64_t end = step + r.part_steps < steps.end ? step + r.part_steps : steps.end;
        x = active ? add_steps<F, A, In>(p, base, place, step, end) : F::identity();
        if (r.together)
            break;
        x = combine_lanes<F>(x, steps.width);
        step = end;
        if (threadIdx.x % 32 != 0 || (part == 1 && step == steps.end))
            continue;
        for (unsigned done = part; done % 2 == 0; done /= 2)
            x = F::combine(waiting[--count], x);
        if (step < steps.end)
            waiting[count++] = x;
    }
    pdl_as_comments::pdl_launch_dependents();
    if (r.together) {
        x = combine_steps<F>(p, slots, x, steps, place);
    } else {
        while (count > 0)
            x = F::combine(waiting[--count], x);
        if (steps.groups > 1)
            x = combine_warps<F>(p, slots, x, steps);
    }
    if (active && threadIdx.x % p.threads_along == 0)
        put<F>(p, uint64_t(blockIdx.y) * p.results + result, x);
}

} // namespace gr::reduce
