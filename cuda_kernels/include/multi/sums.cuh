// Exact sums of a list of arrays: of elements, of their magnitudes, or of their squares. Blocks add their
// states to the state of a result in memory, which another kernel rounds.
#pragma once

#include "multi/squares.cuh"

namespace gr::multi {

// Sums elements by the bins of exact/bins.cuh. The number of additions is equal in all threads of a block.
template <class In> struct Sums {
    using Bins = typename std::conditional<sizeof(In) == 8, WideBins<>, NarrowBins<In>>::type;
    static constexpr unsigned loads = sizeof(In) == 8 ? 8 : 4, batch = 1;
    static constexpr unsigned elements = loads * Vec16<In>::length;
    static constexpr unsigned fold_after = sizeof(In) == 8 ? GR_EXACT_WIDE_FOLD : GR_EXACT_NARROW_FOLD;
    Bins bins;
    Folder<Bins> folder;
    bool absolute;

    __device__ Sums(bool absolute)
        : bins(block_bins<Bins>()), folder{bins, 0, fold_after}, absolute(absolute) {
        bins.open();
    }
    __device__ void add(Vec16<In> *x) {
        constexpr uint32_t magnitude_bits = sizeof(In) == 2 ? 0x7fff7fff : 0x7fffffff;
        if (absolute)
#pragma unroll
            for (unsigned i = sizeof(In) / 8; i < 4; i += 1 + sizeof(In) / 8)
                x->words[i] &= magnitude_bits;
        add_chunk<false>(bins, *x, *x);
    }
    __device__ void add_one(In x) {
        bins.add(absolute && x < In(0.0f) ? -x : x);
    }
    __device__ void step() {
        folder.expect(elements + 2);
        folder.count(elements + 2);
    }
    __device__ void finish() {
        fold(bins);
        folder.added = folder.since = 0;
    }
};

// Adds the block's state to the state of a result, whose digits begin at a lower power of two, and clears it.
// Called by all threads of a block.
template <unsigned Words, unsigned Below, unsigned OutWords, unsigned OutBelow>
__device__ void join(const gr_multi_params &p, uint64_t result) {
    constexpr unsigned digits = Words - GR_MULTI_SPECIAL_WORDS;
    static_assert((OutBelow - Below) % 32 == 0, "digits fit digits");
    int64_t *state = block_state();
    int64_t *out = reinterpret_cast<int64_t *>(p.out) + result * OutWords;
    for (unsigned i = threadIdx.x; i < Words; i += blockDim.x) {
        if (i < digits && state[i] != 0)
            add_word(out + i + (OutBelow - Below) / 32, state[i]);
        if (i == Words - 1) {
            const uint32_t flags = static_cast<uint32_t>(state[i]);
            const int64_t infinities = (flags & GR_EXACT_INFINITY ? 1 : 0) +
                                       (flags & GR_EXACT_MINUS_INFINITY ? int64_t(1) << 32 : 0);
            if (infinities != 0)
                add_word(out + OutWords - 2, infinities);
            if (flags & GR_EXACT_NAN)
                add_word(out + OutWords - 1, 1);
        }
        state[i] = 0;
    }
    __syncthreads();
}

template <class In, unsigned OutWords, unsigned OutBelow, class Accumulator>
__device__ void add_list(const gr_multi_params &p, Accumulator &accumulator) {
    using Bins = typename Accumulator::Bins;
    const bool each = (p.flags & GR_MULTI_EACH) != 0;
    const auto put = [&](uint64_t result) {
        accumulator.finish();
        join<Bins::size.words, Bins::size.below, OutWords, OutBelow>(p, result);
    };
    for (unsigned i = threadIdx.x; i < Bins::size.words; i += blockDim.x)
        block_state()[i] = 0;
    __syncthreads();
    each_segment<sizeof(In)>(p, [&](const Segment &segment) {
        add_segment<In>(segment, accumulator);
        if (each)
            put(segment.result);
    });
    if (!each)
        put(0);
}

template <class In> __device__ void sum_list(const gr_multi_params &p) {
    Sums<In> accumulator((p.flags & GR_MULTI_ABSOLUTE) != 0);
    add_list<In, GR_EXACT_WIDE_WORDS, GR_EXACT_WIDE_BELOW>(p, accumulator);
}

template <class In> __device__ void square_list(const gr_multi_params &p) {
    Squares<In> accumulator;
    add_list<In, GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW>(p, accumulator);
}

} // namespace gr::multi
