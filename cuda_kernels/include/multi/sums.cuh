// Exact sums of a list of arrays: of elements, of their magnitudes, or of their squares. Blocks add their
// states to the state of a result in memory, which another kernel rounds.
#pragma once

#include "multi/squares.cuh"

namespace gr::multi {

// Sums float64 by the bins of exact/bins.cuh. The number of additions is equal in all threads of a block.
struct WideSums {
    using Bins = WideBins<>;
    static constexpr unsigned loads = 8, batch = 1, elements = loads * 2;
    Bins bins;
    Folder<Bins> folder;
    bool absolute;

    __device__ WideSums(bool absolute)
        : bins(block_bins<Bins>()), folder{bins, 0, GR_EXACT_WIDE_FOLD}, absolute(absolute) {
        bins.open();
    }
    __device__ void add(Vec16<double> *x) {
        if (absolute)
#pragma unroll
            for (unsigned i = 1; i < 4; i += 2)
                x->words[i] &= 0x7fffffff;
        add_chunk<false>(bins, *x, *x);
    }
    __device__ void add_one(double x) {
        bins.add(absolute ? fabs(x) : x);
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

// The window of a narrower dtype with `bits` bits of a significand: `span` binades of elements below 2^top. A
// batch of a thread is added up without a rounding, and then to a chain of two doubles, which takes up to
// 2^log_adds elements. Elements outside of the window, and full windows, go to the bins of float32.
//
// The first double begins at 1.5 * 2^(top + log_adds + 1): it stays between two powers of two, so that all
// its roundings are to one unit, 2^(top + log_adds - 51). What a rounding leaves out is at most half a unit,
// and exact (T. J. Dekker). The second double adds what is left without a rounding: less than 2^(top + 2 *
// log_adds - 52), and multiples of 2^(top - span - bits + 1), which are 53 bits.
//
// Sums of batches are less than 2^(largest exponent + 1 + log_batch), and multiples of
// 2^(least exponent - bits + 1). A double holds them if the exponents differ by `batch_apart` at most.
// Sums of the elements of a vector are held by a float if those of two-byte elements differ by `together` at
// most: less than 2^(largest exponent + 4). The sum of two elements whose exponents differ by three more is
// less than 2^(largest exponent + 2), and is held, too.
template <class In> struct SumWindow;
template <> struct SumWindow<float> { static constexpr unsigned bits = 24, log_adds = 10; };
template <> struct SumWindow<gr_bf16> { static constexpr unsigned bits = 8, log_adds = 12, together = 13; };
template <> struct SumWindow<gr_f16> { static constexpr unsigned bits = 11, log_adds = 12, together = 10; };

template <class In> struct WindowSums {
    using Window = SumWindow<In>;
    using Bins = NarrowBins<float>;
    static constexpr unsigned loads = 8, batch = 4, width = Vec16<In>::length, elements = loads * width;
    static constexpr unsigned batch_elements = batch * width, log_batch = sizeof(In) == 2 ? 5 : 4;
    static_assert(batch_elements == 1u << log_batch, "a power of two");
    static constexpr unsigned log_adds = Window::log_adds, parts = 3; // floats that a double is cut into
    static constexpr unsigned span = 106 - 2 * log_adds - Window::bits;
    static constexpr unsigned batch_apart = 53 - Window::bits - log_batch;
    static constexpr unsigned max_top = 254 - log_adds; // biased: sums of the window are finite floats
    static constexpr unsigned steps_between = (1u << log_adds) / elements / 4;
    static constexpr unsigned max_added = steps_between * (elements + 2 + 2 * parts * (loads / batch));
    static_assert(2 * max_added <= GR_EXACT_NARROW_FOLD, "bins take as many additions between two folds");
    Bins bins;
    double sum, left_out;
    uint32_t lower = 0, upper = 1; // of twice_bits() minus 1, and of twice_bits(); 0 is always in the window
    unsigned taken = 0, added = 0; // elements in the window; additions to the bins
    unsigned steps = 0;
    int exponent = 0; // of the number at which `sum` begins
    bool absolute;

    __device__ WindowSums(bool absolute) : bins(block_bins<Bins>()), absolute(absolute) {
        bins.open();
        reset();
    }

    // ---- the window ----

    __device__ bool has(const Magnitudes &magnitudes) const {
        return magnitudes.most < upper && magnitudes.less >= lower;
    }
    // Puts the empty window around an element, given its twice_bits().
    __device__ void place_around(uint32_t most) {
        const unsigned top = min(max(most >> 24, 1u) + 3, max_top); // biased, as is `least`
        const unsigned least = top > span ? top - span : 0;
        lower = least > 1 ? (least << 24) - 1 : 0;
        upper = top << 24;
        exponent = static_cast<int>(top + log_adds) - 126;
        reset();
    }
    __device__ double start() const {
        return 1.5 * power_of_two(exponent);
    }
    __device__ void reset() {
        sum = start();
        left_out = 0;
        taken = 0;
    }
    // Adds the window to the bins.
    __device__ void empty() {
        if (taken == 0)
            return;
        add_parts(sum - start());
        add_parts(left_out);
        added += 2 * parts;
        reset();
    }
    // Adds floats that are the bits of a double from the highest to the lowest.
    __device__ void add_parts(double x) {
#pragma unroll 1
        for (unsigned i = 0; i < parts && x != 0; ++i) {
            const float part = static_cast<float>(x);
            bins.add(part);
            x -= part;
        }
    }
    __device__ void add_to_window(double x) {
        const double after = sum + x;
        left_out += x - (after - sum);
        sum = after;
    }

    // ---- a batch ----

    // The sum of the elements of a vector, without a rounding.
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
    // The sum of a batch, each Together elements of which are added up as floats.
    template <unsigned Together> static __device__ double total_of(const Vec16<In> *x) {
        constexpr unsigned chains = 4;
        double partial[chains] = {};
#pragma unroll
        for (unsigned i = 0; i < batch_elements; i += Together) {
            const float part = Together == width && Together > 2 && sizeof(In) == 2 ? tree_of(x + i / width)
                               : Together == 2 ? float_of(x, i) + float_of(x, i + 1)
                                               : float_of(x, i);
            partial[i / Together % chains] += static_cast<double>(part);
        }
        return partial[0] + partial[1] + (partial[2] + partial[3]);
    }
    __device__ void add(Vec16<In> *x) {
        if (absolute)
#pragma unroll
            for (unsigned i = 0; i < 4 * batch; ++i)
                x[i / 4].words[i % 4] &= sizeof(In) == 2 ? 0x7fff7fff : 0x7fffffff;
        const Magnitudes magnitudes = magnitudes_of<batch_elements>(x);
        if (!has(magnitudes)) {
            empty();
            place_around(magnitudes.most);
            if (!has(magnitudes))
                return add_to_bins(x);
        }
        const uint32_t apart = magnitudes.apart();
        if (apart <= batch_apart)
            add_to_window(total_of_near(x, apart));
        else
#pragma unroll
            for (unsigned i = 0; i < batch_elements; ++i)
                add_to_window(float_of(x, i));
        taken += batch_elements;
    }
    static __device__ double total_of_near(const Vec16<In> *x, uint32_t apart) {
        if constexpr (sizeof(In) == 2) {
            if (apart <= Window::together)
                return total_of<width>(x);
            if (apart <= Window::together + 3)
                return total_of<2>(x);
        }
        return total_of<1>(x);
    }
    __device__ void add_to_bins(const Vec16<In> *x) {
#pragma unroll
        for (unsigned i = 0; i < batch_elements; ++i)
            bins.add(float_of(x, i));
        added += batch_elements;
    }

    // ---- what add_segment calls besides ----

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
template <class In> struct Sums : WindowSums<In> { using WindowSums<In>::WindowSums; };
template <> struct Sums<double> : WideSums { using WideSums::WideSums; };

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
