// general_lanes: neighbouring results of operators whose order counts, in the order of lanes.cuh. A group of
// threads takes neighbouring lanes of neighbouring columns. A thread has an aligned vector of elements of
// a row, and several rows in flight. Rows of few columns that are contiguous count as one sequence of
// elements, which may begin between two vectors.
#pragma once

#include "common/vec.cuh"
#include "reduce/general/columns.cuh"
#include "reduce/general/lanes.cuh"

namespace gr::reduce {

// Whether groups take sets of lanes. Operators whose States are large have `axis` for rows that are not
// aligned vectors.
template <class F> constexpr bool takes_sets = true;

// A row of a thread as loaded, and the number of rows in flight.
template <class In, bool Halves = sizeof(In) == 2> struct LaneVector {
    using type = Vec<In, column_width<In>>;
};
template <class In> struct LaneVector<In, true> {
    using type = Packed<In, column_width<In> * sizeof(In) / 4>;
};
enum { GR_LANE_ROWS = 8 };

// Whether an element takes few instructions, so that a loop without conditions pays.
template <class F, class In>
constexpr bool is_short = !BatchState<F, In>::there && !BatchAccumulator<F, In>::there;

template <class In, unsigned N> __device__ void set_element(Vec<In, N> &x, unsigned e, In element) {
    x.at[e] = element;
}
template <class In, unsigned N> __device__ void set_element(Packed<In, N> &x, unsigned e, In element) {
    const uint32_t bits = reinterpret_cast<const uint16_t &>(element);
    x.words[e / 2] = e % 2 ? x.words[e / 2] | bits << 16 : bits;
}

// The row at `from`: a vector, or, if some elements of it may not exist, those in `mask`.
template <class In, bool Masked>
__device__ typename LaneVector<In>::type load_row(uint64_t from, unsigned mask) {
    using Loaded = typename LaneVector<In>::type;
    if constexpr (Masked) {
        Loaded x = {};
#pragma unroll
        for (unsigned e = 0; e < column_width<In>; ++e)
            if (mask >> e & 1)
                set_element(x, e, reinterpret_cast<const In *>(from)[e]);
        return x;
    } else {
        return *reinterpret_cast<const Loaded *>(from);
    }
}

// The States of a vector of lanes of `count` elements each, p.lanes.step bytes apart.
template <class F, class In, bool Masked>
__device__ void add_vectors(const gr_general_params &p, uint64_t from, uint64_t count, unsigned mask,
                            typename F::State (&s)[column_width<In>]) {
    constexpr unsigned width = column_width<In>, batch = batch_size<F, In>, rows = GR_LANE_ROWS;
    using Loaded = typename LaneVector<In>::type;
    const uint64_t step = p.lanes.step;
    typename BatchState<F, In>::ThreadState kept[width];
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        kept[e] = BatchState<F, In>::init();
    uint64_t done = 0;
    if constexpr (is_short<F, In> && !Masked) {
#pragma unroll 1
        for (; count - done >= rows; done += rows) { // nothing in between the loads
            Loaded loaded[rows];
#pragma unroll
            for (unsigned j = 0; j < rows; ++j, from += step)
                loaded[j] = *reinterpret_cast<const Loaded *>(from);
#pragma unroll
            for (unsigned j = 0; j < rows; ++j)
#pragma unroll
                for (unsigned e = 0; e < width; ++e)
                    kept[e] = Append<F, In>::to(kept[e], element_of(loaded[j], e), 0);
        }
    }
#pragma unroll 1
    for (; done < count; done += rows) {
        const unsigned turn = count - done < rows ? unsigned(count - done) : rows;
        Loaded loaded[rows];
#pragma unroll
        for (unsigned j = 0; j < rows; ++j, from += step)
            if (j < turn)
                loaded[j] = load_row<In, Masked>(from, mask);
#pragma unroll
        for (unsigned first = 0; first < rows; first += batch)
            if (first < turn)
#pragma unroll
                for (unsigned e = 0; e < width; ++e)
                    take_batch<F, In>(
                        kept[e], done + first, [&](unsigned j) { return element_of(loaded[first + j], e); },
                        [&](unsigned j) { return first + j < turn; });
    }
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        s[e] = BatchState<F, In>::to_state(kept[e], count);
}

inline __device__ unsigned line_of(const gr_lanes &c, unsigned element) {
    return c.columns > 1 ? __umulhi(element, c.by_columns) : element;
}

// Combines the States of neighbouring lanes of each column of all groups.
template <class F> __device__ void combine_lanes(const gr_lanes &c, typename F::State *shared) {
    using State = typename F::State;
    unsigned rows = 1u << c.lane_bits, apart = c.columns;
    while (rows > 1) {
        const unsigned at_once = rows > 2 ? 4 : 2;
        rows /= at_once;
        __syncthreads();
        for (unsigned i = threadIdx.x; i < rows * c.columns * c.groups; i += GR_GENERAL_THREADS) {
            const unsigned line = line_of(c, i), column = i - line * c.columns;
            State *const at = shared + line * at_once * apart + column;
            State x = F::combine(at[0], at[apart]);
            if (at_once == 4)
                x = F::combine(x, F::combine(at[2 * apart], at[3 * apart]));
            at[0] = x;
        }
        apart *= at_once;
    }
    __syncthreads();
}

// The vector that a thread takes of a row or of a sequence: elements from number `first` on, of which those
// in `live` belong to the group.
template <class In> struct LaneShare {
    int first;
    unsigned row, live;
    uint64_t lane; // number of its first lane
    uint64_t from; // address

    // Of the columns from the one at `start` on, of which `columns` are left, from lane number `lane` on.
    __device__ LaneShare(const gr_general_params &p, uint64_t start, uint64_t first_lane, unsigned thread,
                         uint64_t columns) {
        constexpr unsigned width = column_width<In>;
        const gr_lanes &c = p.lanes;
        row = thread * c.by_vectors >> 16;
        lane = first_lane + (c.in_sets ? row : row << c.turn_bits);
        start += lane * uint64_t(p.along.stride[0]);
        first = int((thread - row * c.vectors) * width) - int(start % (width * sizeof(In)) / sizeof(In));
        from = start + uint64_t(int64_t(first) * int64_t(sizeof(In)));
        const uint64_t here = c.is_sequence ? uint64_t(c.columns) << c.lane_bits : c.columns;
        live = 0;
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            live |= unsigned(unsigned(first + int(e)) < (c.is_sequence || here < columns ? here : columns))
                    << e;
    }

    // The live elements whose lane has one element more.
    __device__ unsigned extra(const gr_lanes &c) const {
        if (!c.is_sequence)
            return lane < c.rest ? live : 0;
        const uint64_t more = (c.rest > lane ? c.rest - lane : 0) * c.columns;
        unsigned mask = 0;
#pragma unroll
        for (unsigned e = 0; e < column_width<In>; ++e)
            mask |= unsigned(int64_t(first) + int64_t(e) < int64_t(more)) << e;
        return mask & live;
    }
};

// Writes the States of a vector of lanes to shared memory, where those in `extra` have one element more.
template <class F, class In>
__device__ void add_lanes(const gr_general_params &p, uint64_t from, unsigned live, unsigned extra,
                          typename F::State *to) {
    constexpr unsigned width = column_width<In>;
    const gr_lanes &c = p.lanes;
#pragma unroll 1
    for (unsigned more = 0; more < 2; ++more) {
        const unsigned mask = more ? extra : live & ~extra;
        const uint64_t count = c.each + more, last = from + (count - 1) * c.step;
        if (mask == 0)
            continue;
        const uint64_t low = from < last ? from : last, high = from < last ? last : from;
        typename F::State s[width];
        if (low >= p.in + uint64_t(c.low) && high + width * sizeof(In) <= p.in + uint64_t(c.high))
            add_vectors<F, In, false>(p, from, count, mask, s);
        else
            add_vectors<F, In, true>(p, from, count, mask, s);
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            if (mask >> e & 1)
                to[e] = s[e];
    }
}

template <class F, class In> __device__ void reduce_lanes(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned width = column_width<In>;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * width * sizeof(State)];
    State *const shared = reinterpret_cast<State *>(raw);
    const gr_lanes &c = p.lanes;
    const unsigned group = threadIdx.x * c.by_threads >> 16, all = c.columns << c.lane_bits;
    const uint64_t number = uint64_t(blockIdx.x) * c.groups + group;
    const uint64_t batch = quotient(number, c.period, c.by_period);
    const uint64_t first_column = (number - batch * c.period) * c.columns;
    const uint64_t first_lane = uint64_t(blockIdx.y) << (c.lane_bits + c.turn_bits);
    const uint64_t start = p.in + offsets(p.keep, batch * c.width).in + first_column * sizeof(In);
    const bool active = group < c.groups && number < c.slots;
    const bool direct = c.lane_bits == 0 && !c.in_sets; // each thread has all lanes of the block
    pdl_begin(p);
    State results[width]; // those of columns number threadIdx.x, threadIdx.x + GR_GENERAL_THREADS, ...
    tree_of_lanes<F, width>(
        c.in_sets ? 1u << c.turn_bits : 1, results, [&](unsigned set, State(&of_set)[width]) {
            const LaneShare<In> share(p, start, first_lane + (uint64_t(set) << c.lane_bits),
                                      threadIdx.x - group * c.threads, c.width - first_column);
            if (set > 0)
                __syncthreads();
            State *const to = shared + int(group * all + share.row * c.columns) + share.first;
            const bool in_sets = takes_sets<F> && c.in_sets;
            if constexpr (takes_sets<F>)
                if (active && share.live != 0 && in_sets)
                    add_lanes<F, In>(p, share.from, share.live, share.extra(c), to);
            if (active && share.live != 0 && !in_sets) {
                State s[width];
                tree_of_lanes<F, width>(1u << c.turn_bits, s, [&](unsigned j, State(&of_lane)[width]) {
                    add_vectors<F, In, false>(p, share.from + j * uint64_t(p.along.stride[0]),
                                              c.each + (share.lane + j < c.rest), 0, of_lane);
                });
                if (direct)
                    put_vector<F>(p,
                                  uint64_t(blockIdx.y) * p.results + batch * c.width + first_column +
                                      unsigned(share.first),
                                  s);
                else
#pragma unroll
                    for (unsigned e = 0; e < width; ++e)
                        to[e] = s[e];
            }
            if (direct)
                return;
            combine_lanes<F>(c, shared);
#pragma unroll
            for (unsigned k = 0; k < width; ++k) {
                const unsigned i = threadIdx.x + k * GR_GENERAL_THREADS, line = line_of(c, i);
                of_set[k] = line < c.groups ? shared[line * all + (i - line * c.columns)] : F::identity();
            }
        });
    pdl_as_comments::pdl_launch_dependents();
    if (direct)
        return;
#pragma unroll 1
    for (unsigned k = 0; k < width; ++k) {
        const unsigned i = threadIdx.x + k * GR_GENERAL_THREADS, line = line_of(c, i);
        if (line >= c.groups)
            return;
        const uint64_t of = uint64_t(blockIdx.x) * c.groups + line, in = quotient(of, c.period, c.by_period);
        const uint64_t column = (of - in * c.period) * c.columns + (i - line * c.columns);
        State x = results[0]; // an index would put `results` in memory
#pragma unroll
        for (unsigned n = 1; n < width; ++n)
            if (n == k)
                x = results[n];
        if (of < c.slots && column < c.width)
            put_one<F>(p, in * c.width + column, x);
    }
}

} // namespace gr::reduce
