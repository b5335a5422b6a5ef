// Common parts of general_columns and general_spread: the elements of a few columns, and how they are taken
// into the States of these columns.
#pragma once

#include "common/vec.cuh"
#include "reduce/general/general.cuh"

namespace gr::reduce {

template <class In>
constexpr unsigned column_width = 16 / sizeof(In) < GR_MAX_COLUMNS ? 16 / sizeof(In) : GR_MAX_COLUMNS;

// The type in which a thread combines the elements of one column that it has in flight before it combines
// them with their State, where that takes fewer instructions than to combine one State after the other:
//   T                  a type of 32 bits
//   of(x), both(a, b)  the T of an element, and of two
// or, where it packs, several columns in a word:
//   take(s, loaded, there)   takes the rows for which there(j) into States
template <class F, class In> struct PackedBatch { static constexpr bool there = false, packs = false; };

template <class In, unsigned N> __device__ In element_of(const Vec<In, N> &x, unsigned e) {
    return x.at[e];
}
template <class In, unsigned N> __device__ In element_of(const Packed<In, N> &x, unsigned e) {
    return x.at(e);
}

template <class In, unsigned N> __device__ uint32_t word_of(const Packed<In, N> &x, unsigned i) {
    return x.words[i];
}

// Takes the rows for which there(j), the first of them always, into the values kept of a slot that had `rows`
// others. The position of element e of loaded[j] is row[e] + first + j * apart.
template <class F, class In, class Loaded, unsigned N, unsigned Width>
__device__ void add_turn(typename BatchState<F, In>::ThreadState (&s)[Width], uint64_t rows,
                         const Loaded (&loaded)[N], const bool (&there)[N], const uint64_t (&row)[Width],
                         uint64_t first, uint64_t apart) {
    using Of = PackedBatch<F, In>;
    if constexpr (BatchState<F, In>::there) {
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            BatchState<F, In>::template take<N>(
                s[e], uint32_t(rows), [&](unsigned j) { return element_of(loaded[j], e); },
                [&](unsigned j) { return there[j]; });
    } else if constexpr (BatchAccumulator<F, In>::there) {
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            s[e] = BatchAccumulator<F, In>::template add<N>(
                s[e], [&](unsigned j) { return element_of(loaded[j], e); },
                [&](unsigned j) { return there[j]; }, first + row[e], apart);
    } else if constexpr (Of::packs) {
        Of::take(s, loaded, there);
    } else if constexpr (!Of::there) {
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            if (there[j]) {
#pragma unroll
                for (unsigned e = 0; e < Width; ++e)
                    s[e] = Append<F, In>::to(s[e], element_of(loaded[j], e), first + j * apart + row[e]);
            }
    } else {
        typename Of::T t[Width];
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            t[e] = Of::of(element_of(loaded[0], e));
#pragma unroll
        for (unsigned j = 1; j < N; ++j)
            if (there[j]) {
#pragma unroll
                for (unsigned e = 0; e < Width; ++e)
                    t[e] = Of::both(t[e], Of::of(element_of(loaded[j], e)));
            }
#pragma unroll
        for (unsigned e = 0; e < Width; ++e)
            s[e] = F::combine(s[e], typename F::State(t[e]));
    }
}

// The slot, row and batch of a thread in its block.
struct Share {
    unsigned across, row, group;

    __device__ explicit Share(const gr_columns &c) {
        const unsigned line = threadIdx.x * c.by_across >> 16;
        across = threadIdx.x - line * c.across;
        group = line * c.by_down >> 16;
        row = line - group * c.down;
    }
};

// Combines the States of the threads that share a slot, c.down of them, into those of the first.
template <class F, unsigned Width>
__device__ void combine_down(typename F::State *shared, typename F::State (&s)[Width], const gr_columns &c,
                             unsigned row, unsigned group) {
    for (unsigned rows = c.down; rows > 1; rows = (rows + 1) / 2) {
        const unsigned half = (rows + 1) / 2;
        if (group < c.batches && row >= half && row < rows)
#pragma unroll
            for (unsigned e = 0; e < Width; ++e)
                shared[e * GR_GENERAL_THREADS + threadIdx.x] = s[e];
        __syncthreads();
        if (group < c.batches && row < rows - half)
#pragma unroll
            for (unsigned e = 0; e < Width; ++e)
                s[e] = F::combine(s[e], shared[e * GR_GENERAL_THREADS + threadIdx.x + half * c.across]);
    }
}

} // namespace gr::reduce
