// general_columns: neighbouring results, the elements of each a row apart. A thread holds the States of a
// vector of columns (a slot) and has several rows of it in flight, so loads are coalesced along the results.
#pragma once

#include "common/vec.cuh"
#include "reduce/general/words.cuh"

namespace gr::reduce {

// A row of a slot as loaded, and the number of rows in flight.
template <class F, class In, bool Words = sizeof(In) <= 2 || PackedBatch<F, In>::there> struct Columns {
    using type = Vec<In, column_width<In>>;
    static constexpr unsigned in_flight = 4;
};
template <class F, class In> struct Columns<F, In, true> {
    using type = Packed<In, column_width<In> * sizeof(In) / 4>;
    static constexpr unsigned in_flight = 64 / sizeof(type);
};

// The slot of a thread. In a ragged batch the first `head` elements come before the first whole vector, and
// its slots have `rows` vectors or one less.
template <class In> struct Slot {
    static constexpr unsigned width = column_width<In>;
    uint64_t batch, at; // its batch, and its place there
    uint64_t start;     // address of the batch
    uint64_t first;     // address of its first vector
    uint64_t rows;      // whole vectors in it
    uint64_t vectors;   // in the batch; and elements before them
    unsigned head;

    __device__ Slot(const gr_general_params &p, uint64_t number) {
        const gr_columns &c = p.columns;
        head = 0;
        rows = p.count;
        if (!(p.flags & GR_UNALIGNED_ROWS)) {
            first = p.in + offsets(p.keep, number * width).in;
            return;
        }
        batch = quotient(number, c.period, c.by_period);
        at = number - batch * c.period;
        start = p.in + offsets(p.keep, batch * c.width).in;
        const uint64_t all = p.count * c.width, bytes = sizeof(In) * width;
        const unsigned skew = unsigned((bytes - start % bytes) % bytes / sizeof(In));
        head = skew < all ? skew : unsigned(all);
        vectors = (all - head) / width;
        rows = vectors > at ? quotient(vectors - at - 1, c.period, c.by_period) + 1 : 0;
        first = start + (head + at * width) * sizeof(In);
    }

    // The row of element number `element` of the batch and of those behind it.
    __device__ static void rows_of(const gr_general_params &p, uint64_t element, uint64_t (&row)[width]) {
        uint64_t column = element % p.columns.width;
        row[0] = element / p.columns.width;
#pragma unroll
        for (unsigned e = 1; e < width; ++e) {
            const bool next = ++column == p.columns.width;
            row[e] = row[e - 1] + next;
            column = next ? 0 : column;
        }
    }
};

// The States of rows number k, k + step, ... of a slot, several in flight.
template <class F, class In>
__device__ void add_rows(const gr_general_params &p, const Slot<In> &slot, uint64_t k, uint64_t step,
                         typename F::State (&s)[column_width<In>]) {
    constexpr unsigned width = column_width<In>;
    using Loaded = typename Columns<F, In>::type;
    constexpr unsigned in_flight = Columns<F, In>::in_flight;
    Walk<false> walk(p, k);
    // Positions count rows, of which a ragged batch has several in a period.
    const unsigned replicas = p.columns.replicas;
    typename BatchState<F, In>::ThreadState kept[width];
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        kept[e] = BatchState<F, In>::init();
    uint64_t row[width] = {};
    if (p.flags & GR_UNALIGNED_ROWS)
        slot.rows_of(p, slot.head + slot.at * width, row);
    const bool evenly = p.iterator.extent == ~uint64_t(0);
    const uint64_t all = k < slot.rows ? steps_in(p.iterator, slot.rows - k - 1) + 1 : 0;
    uint64_t left = all;
    if constexpr (BatchState<F, In>::there) {
        constexpr unsigned rows = BatchState<F, In>::in_flight;
        bool every[rows];
#pragma unroll
        for (unsigned j = 0; j < rows; ++j)
            every[j] = true;
        for (; evenly && left >= rows; left -= rows) { // nothing in between the loads
            Loaded loaded[rows];
#pragma unroll
            for (unsigned j = 0; j < rows; ++j) {
                loaded[j] = *reinterpret_cast<const Loaded *>(slot.first + walk.at.in);
                walk.next_evenly(p.iterator);
            }
            add_turn<F, In>(kept, all - left, loaded, every, row, 0, 0);
        }
    }
    for (; left > 0; k += in_flight * step) {
        const unsigned turn = left < in_flight ? unsigned(left) : in_flight;
        Loaded loaded[in_flight];
        bool there[in_flight];
#pragma unroll
        for (unsigned j = 0; j < in_flight; ++j)
            there[j] = j < turn;
        if (evenly) {
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j) {
                if (there[j])
                    loaded[j] = *reinterpret_cast<const Loaded *>(slot.first + walk.at.in);
                walk.next_evenly(p.iterator);
            }
        } else {
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j) {
                if (there[j])
                    loaded[j] = *reinterpret_cast<const Loaded *>(slot.first + walk.at.in);
                walk.next(p.iterator);
            }
        }
        left -= turn;
        add_turn<F, In>(kept, all - left - turn, loaded, there, row, k * replicas, step * replicas);
    }
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        s[e] = BatchState<F, In>::to_state(kept[e], all);
}

// The elements before and behind the whole vectors of a ragged batch, by the thread in whose columns they
// are.
template <class F, class In>
__device__ void add_edges(const gr_general_params &p, const Slot<In> &slot,
                          typename F::State (&s)[column_width<In>]) {
    constexpr unsigned width = column_width<In>;
    const uint64_t all = p.count * p.columns.width, period = p.columns.period;
    const In *in = reinterpret_cast<const In *>(slot.start);
#pragma unroll 1
    for (unsigned side = 0; side < 2; ++side) {
        const uint64_t turns = quotient(slot.vectors, period, p.columns.by_period);
        if (slot.at != (side ? slot.vectors - turns * period : period - 1))
            continue;
        // Elements before the first vector are counted one period further on, so that no number is negative.
        const uint64_t turn = side ? 0 : period * width, rows = side ? 0 : p.columns.replicas;
        const uint64_t first = slot.head + (side ? slot.vectors * width : turn - width);
        uint64_t row[width];
        slot.rows_of(p, first, row);
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            if (first + e >= turn && first + e - turn < all)
                s[e] = F::combine(s[e], F::load(in[first + e - turn], row[e] - rows));
    }
}

// Writes the States of neighbouring results, or the results.
template <class F, unsigned N>
__device__ void put_vector(const gr_general_params &p, uint64_t index, const typename F::State (&s)[N]) {
    using Out = typename F::Out;
    using Results = Vec<Out, N>;
    if constexpr (has_long_finish<F>) {
        if (p.flags & GR_FINAL) {
            Out *const out = reinterpret_cast<Out *>(p.out) + index;
            Results results;
#pragma unroll
            for (unsigned e = 0; e < N; ++e)
                results.at[e] = finished<F>(p, s[e]);
            if (p.out % alignof(Results) == 0)
                *reinterpret_cast<Results *>(out) = results;
            else
#pragma unroll
                for (unsigned e = 0; e < N; ++e)
                    out[e] = results.at[e];
        } else {
#pragma unroll
            for (unsigned e = 0; e < N; ++e)
                reinterpret_cast<typename F::State *>(p.out)[index + e] = s[e];
        }
        return;
    }
    if (!(p.flags & GR_FINAL) || p.out % alignof(Results) != 0) {
#pragma unroll
        for (unsigned e = 0; e < N; ++e)
            put<F>(p, index + e, s[e]);
        return;
    }
    Results results;
#pragma unroll
    for (unsigned e = 0; e < N; ++e)
        results.at[e] = finished<F>(p, s[e]);
    *reinterpret_cast<Results *>(reinterpret_cast<Out *>(p.out) + index) = results;
}

template <class F, class In>
constexpr unsigned columns_occupancy = GR_COLUMNS_OCCUPANCY(occupancy_bytes<F>, column_width<In>);

template <class F, class In> __device__ void reduce_columns(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned width = column_width<In>;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * width * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    const gr_columns &c = p.columns;
    const Share share(c);
    const unsigned across = share.across, row = share.row, group = share.group;
    const uint64_t number = (uint64_t(blockIdx.x) * c.batches + group) * c.across + across;
    const bool active = group < c.batches && number < c.slots;
    const Slot<In> slot(p, active ? number : 0);

    State s[width];
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        s[e] = F::identity();
    pdl_begin(p);
    if (active) {
        add_rows<F, In>(p, slot, row + uint64_t(c.down) * blockIdx.y, uint64_t(c.down) * gridDim.y, s);
        if ((p.flags & GR_UNALIGNED_ROWS) && row == 0 && blockIdx.y == 0)
            add_edges<F, In>(p, slot, s);
    }
    pdl_as_comments::pdl_launch_dependents();
    combine_down<F>(shared, s, c, row, group);
    const bool writes = active && row == 0;
    if (!(p.flags & GR_UNALIGNED_ROWS)) {
        if (writes)
            put_vector<F>(p, uint64_t(blockIdx.y) * p.results + number * width, s);
        return;
    }
    const uint64_t turn = c.period * width; // elements of a period
    if (p.flags & GR_FOLD) {
        __syncthreads();
#pragma unroll
        for (unsigned e = 0; e < width; ++e) {
            const unsigned place = slot.head + unsigned(slot.at) * width + e;
            if (writes)
                shared[group * unsigned(turn) + (place < turn ? place : place - unsigned(turn))] = s[e];
        }
        __syncthreads();
        const unsigned columns = unsigned(c.width);
        const uint64_t before = uint64_t(blockIdx.x) * c.batches * columns; // results of earlier blocks
        const uint64_t left = p.results - before;
        const unsigned here = left < c.batches * columns ? unsigned(left) : c.batches * columns;
        for (unsigned result = threadIdx.x; result < here; result += GR_GENERAL_THREADS) {
            const unsigned batch = result / columns;
            const State *from = shared + batch * unsigned(turn) + (result - batch * columns);
            State x = from[0];
            for (unsigned replica = 1; replica < c.replicas; ++replica)
                x = F::combine(x, from[replica * columns]);
            put<F>(p, uint64_t(blockIdx.y) * p.results + before + result, x);
        }
        return;
    }
    if (writes)
#pragma unroll
        for (unsigned e = 0; e < width; ++e) {
            uint64_t place = slot.head + slot.at * width + e;
            place = place < turn ? place : place - turn;
            const uint64_t replica = place / c.width, column = place % c.width;
            put<F>(p,
                   (uint64_t(blockIdx.y) * c.replicas + replica) * p.results + slot.batch * c.width + column,
                   s[e]);
        }
}

} // namespace gr::reduce
