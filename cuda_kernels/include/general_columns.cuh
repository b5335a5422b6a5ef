// general_columns and general_spread: neighbouring results, the elements of each lying a row apart. A thread
// holds the States of a few columns, a slot, and has several rows of it in flight. In `columns` a slot is a
// vector, in `spread` its columns lie apart, so that rows may begin anywhere.
#pragma once

#include "general_last.cuh"
#include "vector.cuh"

template <class In>
constexpr unsigned column_width = 16 / sizeof(In) < GR_MOST_COLUMNS ? 16 / sizeof(In) : GR_MOST_COLUMNS;

// The State after one more element that lies behind all those of `s`.
template <class F, class In, class = void> struct Append {
    static __device__ typename F::State to(typename F::State s, In x, uint64_t position) {
        return F::combine(s, F::load(x, position));
    }
};
template <class F, class In> struct Append<F, In, decltype(void(&F::append))> {
    static __device__ typename F::State to(typename F::State s, In x, uint64_t position) {
        return F::append(s, x, position);
    }
};

// What the elements that a thread has in flight of one column are combined in before their State is, where
// that takes fewer instructions than to combine one State after the other:
//   T                  a type of up to 32 bits
//   of(x), both(a, b)  that of an element, and of two
//   to(t)              its State
template <class F, class In> struct Brief { static constexpr bool there = false; };

// The slot of a thread. Its elements are the columns number `column`, `column + apart`, ..., of which there
// are `live`. In a batch that is folded the first `head` elements come before the first whole vector, and its
// slots have `rows` vectors or one less.
template <class In, bool Spread> struct Slot {
    static constexpr unsigned width = column_width<In>;
    uint64_t batch, at; // its batch, and its place there
    uint64_t start;     // address of the batch
    uint64_t first;     // address of its first vector
    uint64_t rows;      // whole vectors in it
    uint64_t vectors;   // in the batch; and elements before them
    uint64_t result;    // number of that of its first column
    unsigned head, apart, live;

    __device__ Slot(const gr_general_params &p, uint64_t number) : head(0), apart(1), live(width) {
        const gr_columns &c = p.columns;
        rows = walk_length(p.along);
        batch = number / c.period;
        at = number % c.period;
        uint64_t column = at * width;
        if (Spread) { // c.across threads share a piece of a row
            apart = c.across;
            column = at / apart * (apart * width) + at % apart;
            const uint64_t behind = column < c.width ? (c.width - column - 1) / apart + 1 : 0;
            live = behind < width ? unsigned(behind) : width;
        }
        result = batch * c.width + column;
        start = p.in + offsets(p.keep, batch * c.width).in;
        first = start + column * sizeof(In);
        if (Spread || !(p.flags & GR_FOLD))
            return;
        const uint64_t all = p.count * c.width, bytes = sizeof(In) * width;
        const unsigned skew = unsigned((bytes - start % bytes) % bytes / sizeof(In));
        head = skew < all ? skew : unsigned(all);
        vectors = (all - head) / width;
        rows = vectors > at ? (vectors - at - 1) / c.period + 1 : 0;
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

// Elements of neighbouring columns: loaded at once, or one by one.
template <class In, bool Spread> struct Columns { using type = Chunk<In, column_width<In> * sizeof(In)>; };
template <class In> struct Columns<In, true> {
    struct type {
        In element[column_width<In>];
        __device__ In at(unsigned e) const {
            return element[e];
        }
    };
};

// Rows that a thread has in flight: 64 bytes where it loads vectors, of which those of one-byte elements are
// half as long.
template <class In, bool Spread>
constexpr unsigned rows_in_flight = Spread ? 4 : 64 / (column_width<In> * sizeof(In));

// Takes the rows that are there into the States of a slot. The position of loaded[j].at(e) is
// row[e] + first + j * apart.
template <class F, class In, class Loaded, unsigned N, unsigned Width>
__device__ void add_turn(typename F::State (&s)[Width], const Loaded (&loaded)[N], const bool (&there)[N],
                         const uint64_t (&row)[Width], uint64_t first, uint64_t apart) {
    using Of = Brief<F, In>;
    if constexpr (!Of::there) {
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            if (there[j]) {
#pragma unroll
                for (unsigned e = 0; e < Width; ++e)
                    s[e] = Append<F, In>::to(s[e], loaded[j].at(e), first + j * apart + row[e]);
            }
    } else {
        typename Of::T t[Width];
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            t[e] = Of::of(loaded[0].at(e));
#pragma unroll
        for (unsigned j = 1; j < N; ++j)
            if (there[j]) {
#pragma unroll
                for (unsigned e = 0; e < Width; ++e)
                    t[e] = Of::both(t[e], Of::of(loaded[j].at(e)));
            }
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            s[e] = F::combine(s[e], Of::to(t[e]));
    }
}

// A thread's rows from number k on along the first two dimensions from address `first` on, where row 0 has
// position `position`.
template <class F, class In, bool Spread>
__device__ void add_rows(const gr_general_params &p, const Slot<In, Spread> &slot, uint64_t first,
                         uint64_t position, uint64_t k, typename F::State (&s)[column_width<In>]) {
    constexpr unsigned width = column_width<In>, in_flight = rows_in_flight<In, Spread>;
    using Loaded = typename Columns<In, Spread>::type;
    const uint64_t step = p.walkers;
    Walk walk(p.along, k, step);
    // Positions count rows, of which a batch that is folded has several in a period.
    const unsigned replicas = Spread ? 1 : p.columns.replicas;
    uint64_t row[width] = {};
    if (!Spread && (p.flags & GR_FOLD))
        slot.rows_of(p, slot.head + slot.at * width, row);
    for (; k < slot.rows; k += in_flight * step) {
        Loaded loaded[in_flight];
        bool there[in_flight];
#pragma unroll
        for (unsigned j = 0; j < in_flight; ++j) {
            const uint64_t from = first + walk.at.in;
            there[j] = k + j * step < slot.rows;
            if constexpr (Spread) {
#pragma unroll
                for (unsigned e = 0; e < width; ++e)
                    if (there[j] && e < slot.live)
                        loaded[j].element[e] = reinterpret_cast<const In *>(from)[e * slot.apart];
            } else if (there[j]) {
                loaded[j] = *reinterpret_cast<const Loaded *>(from);
            }
            walk.next();
        }
        add_turn<F, In>(s, loaded, there, row, position + k * replicas, step * replicas);
    }
}

// The elements before and behind the whole vectors of a batch that is folded, by the thread in whose columns
// they are.
template <class F, class In>
__device__ void add_edges(const gr_general_params &p, const Slot<In, false> &slot,
                          typename F::State (&s)[column_width<In>]) {
    constexpr unsigned width = column_width<In>;
    const uint64_t all = p.count * p.columns.width, period = p.columns.period;
    const In *in = reinterpret_cast<const In *>(slot.start);
#pragma unroll 1
    for (unsigned side = 0; side < 2; ++side) {
        if (slot.at != (side ? slot.vectors % period : period - 1))
            continue;
        // What lies before the first vector is counted one period further on, where no number is negative.
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
__device__ void put_vector(const gr_general_params &p, uint64_t index, typename F::State (&s)[N]) {
    using Out = typename F::Out;
    using Results = Vector<Out, N>;
    if (!puts_results(p) || !in_a_row(p.place) || p.out % alignof(Results) != 0) {
        put_all<F>(p, index, 1, N, s, puts_results(p));
        return;
    }
    repeat<F>(p, s);
    Results results;
#pragma unroll
    for (unsigned e = 0; e < N; ++e)
        results.at[e] = finished<F>(p, s[e]);
    *reinterpret_cast<Results *>(reinterpret_cast<Out *>(p.out) + index) = results;
}

// Blocks that a multiprocessor must have registers for: loads of fewer threads do not fill its memory pipe.
template <class F, class In, class State = typename F::State>
constexpr unsigned columns_blocks = sizeof(In) == 1 || sizeof(State) * column_width<In> > 64 ? 2 : 3;

// Combines the replicas of each column of the batches of a block, results number `begin` on, `count` of them.
template <class F, class In>
__device__ void fold(const gr_general_params &p, const Slot<In, false> &slot, unsigned group, bool writes,
                     uint64_t begin, unsigned count, const typename F::State (&s)[column_width<In>],
                     typename F::State *shared) {
    using State = typename F::State;
    constexpr unsigned width = column_width<In>;
    const unsigned turn = unsigned(p.columns.period) * width; // elements of a period
    const unsigned columns = unsigned(p.columns.width);
    __syncthreads();
#pragma unroll
    for (unsigned e = 0; e < width; ++e) {
        const unsigned place = slot.head + unsigned(slot.at) * width + e;
        if (writes)
            shared[group * turn + (place < turn ? place : place - turn)] = s[e];
    }
    __syncthreads();
    for (unsigned result = threadIdx.x; result < count; result += GR_GENERAL_THREADS) {
        const unsigned batch = result / columns;
        const State *from = shared + batch * turn + (result - batch * columns);
        State x = from[0];
        for (unsigned replica = 1; replica < p.columns.replicas; ++replica)
            x = F::combine(x, from[replica * columns]);
        put<F>(p, begin + result, x, puts_results(p));
    }
}

template <class F, class In, bool Spread> __device__ void reduce_columns(const gr_general_params &p) {
    using State = typename F::State;
    constexpr unsigned width = column_width<In>;
    __shared__ alignas(16) unsigned char raw[GR_GENERAL_THREADS * width * sizeof(State)];
    State *shared = reinterpret_cast<State *>(raw);
    const gr_columns &c = p.columns;
    unsigned across = threadIdx.x, row = 0, group = 0;
    if (c.across < GR_GENERAL_THREADS) {
        across = threadIdx.x % c.across;
        row = threadIdx.x / c.across % c.down;
        group = threadIdx.x / c.across / c.down;
    }
    const uint64_t number = (uint64_t(blockIdx.x) * c.batches + group) * c.across + across;
    const bool active = group < c.batches && number < c.slots;
    const Slot<In, Spread> slot(p, active ? number : 0);

    State s[width];
#pragma unroll
    for (unsigned e = 0; e < width; ++e)
        s[e] = F::identity();
    if (active) {
        const uint64_t length = walk_length(p.along);
        const Turns turns(p, row + uint64_t(c.down) * blockIdx.y);
        for (uint64_t outer = turns.outer; outer * length < p.count; outer += p.groups) {
            const uint64_t first = slot.first + offsets<2>(p.along, outer).in;
            add_rows<F, In, Spread>(p, slot, first, outer * length, turns.first, s);
        }
        if constexpr (!Spread)
            if ((p.flags & GR_FOLD) && row == 0 && blockIdx.y == 0)
                add_edges<F, In>(p, slot, s);
    }
    for (unsigned rows = c.down; rows > 1; rows = (rows + 1) / 2) {
        const unsigned half = (rows + 1) / 2;
        if (group < c.batches && row >= half && row < rows)
#pragma unroll
            for (unsigned e = 0; e < width; ++e)
                shared[e * GR_GENERAL_THREADS + threadIdx.x] = s[e];
        __syncthreads();
        if (group < c.batches && row < rows - half)
#pragma unroll
            for (unsigned e = 0; e < width; ++e)
                s[e] = F::combine(s[e], shared[e * GR_GENERAL_THREADS + threadIdx.x + half * c.across]);
    }
    const bool writes = active && row == 0;
    const uint64_t before = uint64_t(blockIdx.x) * c.batches * c.across; // slots of earlier blocks
    uint64_t begin = before * width, end = begin + c.batches * c.across * width;
    if constexpr (Spread) {
        if (writes)
            put_all<F>(p, slot.result, slot.apart, slot.live, s, puts_results(p));
        const uint64_t column = before % c.period * width, row_end = column + c.across * width;
        begin = before / c.period * c.width;
        end = begin + (c.batches - 1) * c.width + (row_end < c.width ? row_end : c.width);
        begin += column;
    } else if (p.flags & GR_FOLD) {
        begin = uint64_t(blockIdx.x) * c.batches * c.width;
        end = begin + c.batches * c.width < p.results ? begin + c.batches * c.width : p.results;
        fold<F, In>(p, slot, group, writes, begin, unsigned(end - begin), s, shared);
    } else if (writes) {
        put_vector<F>(p, slot.result, s);
    }
    gather<F>(p, begin, end);
}
