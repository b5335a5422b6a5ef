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
        if (absolute)
#pragma unroll
            for (unsigned i = sizeof(In) / 8; i < 4; i += 1 + sizeof(In) / 8)
                x->words[i] &= 0x7fffffff;
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

// The window of a two-byte dtype. A thread adds the elements of a vector to each other without a rounding, if
// their exponents are near, and the sums of vectors in a double. The double takes up to 2^log_adds elements
// of `span` binades below 2^top: sums are less than 2^(top + log_adds), and multiples of 2^(top - span - 7),
// which are 53 bits. All elements of float16 are multiples of 2^-24, so that one window takes them all. Other
// elements, and full windows, go to the bins of float32.
//
// Partial sums of a vector are less than 2^(largest exponent + 4), and multiples of 2^(least exponent - 7),
// of float16 - 10. A float holds them if the exponents differ by `together` at most. The sum of two numbers
// whose exponents differ by three more is less than 2^(largest exponent + 1), and is held, too. Sums of
// elements up to `most_exponent`, which is biased, are finite floats.
template <class In> struct SumWindow;
template <> struct SumWindow<gr_bf16> {
    static constexpr unsigned span = 34, together = 13, most_exponent = 127 + 110;
};
template <> struct SumWindow<gr_f16> {
    static constexpr unsigned span = 255, together = 10, most_exponent = 127 + 17;
};

template <class In> struct HalfSums {
    using Window = SumWindow<In>;
    using Bins = NarrowBins<float>;
    static constexpr unsigned loads = 4, batch = 1, width = Vec16<In>::length, elements = loads * width;
    static constexpr unsigned log_adds = 12;
    static constexpr unsigned steps_between = (1u << log_adds) / elements / 4;
    static constexpr unsigned max_added = steps_between * (elements + 2 + 3 * loads);
    static_assert(2 * max_added <= GR_EXACT_NARROW_FOLD, "bins take as many additions between two folds");
    Bins bins;
    double sum = -0.0;
    uint32_t lower = 0, upper = 1; // of twice_bits() minus 1, and of twice_bits(); 0 is always in the window
    unsigned taken = 0, added = 0; // elements in the window; additions to the bins
    unsigned steps = 0;
    bool absolute;

    __device__ HalfSums(bool absolute) : bins(block_bins<Bins>()), absolute(absolute) {
        bins.open();
    }
    __device__ bool has(uint32_t less, uint32_t most) const {
        return most < upper && less >= lower;
    }
    // Puts the empty window around an element, given its twice_bits().
    __device__ void place_around(uint32_t most) {
        const unsigned top = min(max(most >> 24, 1u) + 3, Window::most_exponent); // biased, as is `least`
        const unsigned least = top > Window::span ? top - Window::span : 0;
        lower = least > 1 ? (least << 24) - 1 : 0;
        upper = top << 24;
    }
    // Adds the window to the bins, as floats that are its bits from the highest to the lowest.
    __device__ void empty() {
        if (taken == 0)
            return;
#pragma unroll 1
        for (unsigned i = 0; i < 3; ++i) {
            const float part = static_cast<float>(sum);
            bins.add(part);
            sum -= part;
            if (sum == 0)
                break;
        }
        added += 3;
        sum = -0.0;
        taken = 0;
    }
    __device__ void add(Vec16<In> *x) {
        if (absolute)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                x->words[i] &= 0x7fff7fff;
        const Magnitudes magnitudes = magnitudes_of<width>(x);
        const uint32_t less = magnitudes.less, most = magnitudes.most();
        if (!has(less, most)) {
            empty();
            place_around(most);
            if (!has(less, most)) {
#pragma unroll
                for (unsigned i = 0; i < width; ++i)
                    bins.add(float_of(x, i));
                added += width;
                return;
            }
        }
        const uint32_t apart = (most >> 24) - ((less + 1) >> 24);
        if (apart <= Window::together)
            sum += tree_of(x);
        else
            add_each(x, apart <= Window::together + 3);
        taken += width;
    }
    static __device__ float tree_of(const Vec16<In> *x) {
        float partial[width];
#pragma unroll
        for (unsigned i = 0; i < width; ++i)
            partial[i] = float_of(x, i);
#pragma unroll
        for (unsigned apart = 1; apart < width; apart *= 2)
#pragma unroll
            for (unsigned i = 0; i < width; i += 2 * apart)
                partial[i] += partial[i + apart];
        return partial[0];
    }
    // Elements, or the sums of two, without a rounding.
    __device__ void add_each(const Vec16<In> *x, bool in_pairs) {
        if (in_pairs) {
#pragma unroll
            for (unsigned i = 0; i < width; i += 2)
                sum += static_cast<double>(float_of(x, i) + float_of(x, i + 1));
        } else {
#pragma unroll
            for (unsigned i = 0; i < width; ++i)
                sum += static_cast<double>(float_of(x, i));
        }
    }
    __device__ void add_one(In x) {
        const float element = as_float(x);
        bins.add(absolute ? fabsf(element) : element);
        ++added;
    }
    __device__ void step() {
        if (++steps < steps_between)
            return;
        steps = 0;
        if (taken > (1u << log_adds) / 2)
            empty();
        if (__syncthreads_or(added > GR_EXACT_NARROW_FOLD - 2 * max_added))
            fold_bins();
    }
    __device__ void fold_bins() {
        fold(bins);
        added = 0;
    }
    __device__ void finish() {
        empty();
        fold_bins();
    }
};
template <> struct Sums<gr_bf16> : HalfSums<gr_bf16> { using HalfSums::HalfSums; };
template <> struct Sums<gr_f16> : HalfSums<gr_f16> { using HalfSums::HalfSums; };

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
    each_segment(p, sizeof(In), [&](const Segment &segment) {
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
