// Exact sums of squares at the speed of memory. A thread adds squares in registers, in a window of exponents
// around the first elements that it meets: a chain of doubles, each of which takes what the rounding of the
// one before leaves out. Elements outside of the window, and full windows, go to bins in shared memory.
#pragma once

#include "exact/sum.cuh"
#include "multi/segments.cuh"

namespace gr::multi {

using namespace exact;

// The window of a dtype. levels: doubles of the chain. span: binades of elements below the top one, which
// follows from the largest exponent of the first elements. log_adds: of the squares that a window takes
// before it is emptied.
//
// Squares are less than 2^top. The first double of the chain begins at 1.5 * 2^(top + log_adds + 1): it stays
// between two powers of two, so that all its roundings are to one unit, 2^(top + log_adds - 51). What a
// rounding leaves out is at most half a unit, and exact: the sum is larger than the square (T. J. Dekker).
// The second double takes it in the same way. The last one adds what is left without a rounding, as it has
// 53 bits for numbers of at most half a unit of the one before, and all of them are multiples of the last bit
// of the least square: 2 * (exponent - 23) for float32. This gives the spans. What the first rounding of
// squares of elements within `near` binades leaves out are multiples of the unit of the second double, which
// then needs no third.
//
// The squares of a batch of two-byte elements whose exponents differ by `together` at most are added to each
// other first, without a rounding: less than 2^(2 * largest exponent + 7) for 32 of them, and multiples of
// 2^(2 * (least exponent - 7)), or - 10 for float16, they fit in 53 bits.
template <class In> struct SquareWindow;
template <> struct SquareWindow<float> {
    static constexpr int levels = 3, span = 39, near = 17, log_adds = 10;
    static __device__ int top_of(int exponent) {
        return min(exponent + 2, 127);
    }
};
template <> struct SquareWindow<gr_bf16> {
    static constexpr int levels = 2, span = 33, log_adds = 11;
    static constexpr uint32_t together = 16;
    static __device__ int top_of(int exponent) {
        return min(exponent + 2, 127);
    }
};
// One window takes all of float16: the last bit of the least square is 2^-48.
template <> struct SquareWindow<gr_f16> {
    static constexpr int levels = 2, span = 39, log_adds = 11;
    static constexpr uint32_t together = 13;
    static __device__ int top_of(int) {
        return 15;
    }
};

template <class In> __device__ float as_float(In x) {
    return static_cast<float>(x);
}

// Twice the bits of an element as a float, so that its sign does not count: in the order of magnitudes.
template <class In> __device__ uint32_t twice_bits(In x) {
    return 2 * __float_as_uint(as_float(x));
}

// Element number i of several vectors as a float; of bfloat16 by one instruction.
template <class In> __device__ float float_of(const Vec16<In> *x, unsigned i) {
    return as_float(element_of(x, i));
}
template <> inline __device__ float float_of(const Vec16<gr_bf16> *x, unsigned i) {
    const uint32_t two = word_of(x, i / 2);
    return __uint_as_float(i % 2 == 0 ? two << 16 : two & 0xffff0000);
}

// Of some elements. NaNs do not count: they make a sum NaN.
struct Magnitudes {
    float largest = 0;
    uint32_t less = ~0u; // twice_bits() of the smallest but 0, minus 1

    __device__ uint32_t most() const { // twice_bits() of the largest
        return 2 * __float_as_uint(largest);
    }
};
template <unsigned N, class In> __device__ Magnitudes magnitudes_of(const Vec16<In> *x) {
    Magnitudes found;
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
        const float element = float_of(x, i);
        found.largest = fmaxf(found.largest, fabsf(element));
        found.less = min(found.less, 2 * __float_as_uint(element) - 1);
    }
    return found;
}

template <class In> struct Squares {
    using Bins = ProductBins<In>;
    using Window = SquareWindow<In>;
    static constexpr unsigned loads = 8, batch = 4, width = Vec16<In>::length;
    static constexpr unsigned elements = loads * width, batch_elements = batch * width;
    // Between two steps at which blocks look whether bins are full. A step adds the elements of a tile to the
    // bins, those of a window per batch, and elements at the ends.
    static constexpr unsigned steps_between = 1024 / elements / 4;
    static constexpr unsigned max_added = steps_between * (elements + 8);
    static_assert(2 * max_added <= GR_EXACT_WIDE_FOLD, "bins take as many additions between two folds");
    static_assert(2 * steps_between * (elements + 2) <= 1u << Window::log_adds,
                  "a window of half as many takes them");

    Bins bins;
    double sum, left_out, rest;    // left_out: if there are three levels
    uint32_t lower = 0, upper = 1; // of twice_bits() minus 1, and of twice_bits(); 0 is always in the window
    unsigned taken = 0, added = 0; // squares in the window; additions to the bins
    unsigned steps = 0;
    int exponent = 0; // of the number at which `sum` begins

    __device__ Squares() : bins(block_bins<Bins>()) {
        bins.open();
        reset();
    }

    // ---- the window ----

    // `most`: twice_bits() of the largest element; `less`: those of the smallest but 0, minus 1.
    __device__ bool has(uint32_t less, uint32_t most) const {
        return most < upper && less >= lower;
    }
    // twice_bits() of the least number of a biased exponent.
    static __device__ constexpr uint32_t from(int biased_exponent) {
        return static_cast<uint32_t>(biased_exponent) << 24;
    }
    // Whether elements of the window need two levels of three.
    __device__ bool is_near(uint32_t less) const {
        if constexpr (Window::levels == 3) {
            constexpr uint32_t binades = from(Window::near + 1);
            return less >= (upper > binades ? upper - binades - 1 : 0);
        }
        return true;
    }
    // Puts the empty window around a finite element that is not 0, given its twice_bits().
    __device__ void place_around(uint32_t most) {
        const int top = Window::top_of(max(static_cast<int>(most >> 24), 1) - 127);
        const int least = top - Window::span + 127; // biased exponent; subnormal numbers are those of 1
        lower = least > 1 ? from(least) - 1 : 0;
        upper = from(top + 128);
        exponent = 2 * (top + 1) + Window::log_adds + 1;
        reset();
    }
    __device__ double start() const {
        return 1.5 * power_of_two(exponent);
    }
    __device__ double second_start() const {
        return 1.5 * power_of_two(exponent - 52 + Window::log_adds);
    }
    __device__ void reset() {
        sum = start();
        left_out = second_start();
        rest = 0;
        taken = 0;
    }
    __device__ void empty() {
        if (taken == 0)
            return;
        bins.add(sum - start());
        if (Window::levels == 3)
            bins.add(left_out - second_start());
        bins.add(rest);
        added += 3;
        reset();
    }
    template <int Levels> __device__ void add_square(double x) {
        const double after = __fma_rn(x, x, sum);
        double left = __fma_rn(x, x, -(after - sum));
        sum = after;
        if constexpr (Window::levels == 3) {
            const double next = left_out + left;
            if constexpr (Levels == 3)
                rest += left - (next - left_out);
            left_out = next;
        } else {
            rest += left;
        }
    }
    template <int Levels> __device__ void add_squares(const Vec16<In> *x) {
#pragma unroll
        for (unsigned i = 0; i < batch_elements; ++i)
            add_square<Levels>(float_of(x, i));
    }

    // Whether the squares of a batch can be added to each other.
    static __device__ bool are_together(uint32_t less, uint32_t most) {
        if constexpr (sizeof(In) == 2)
            return (most >> 24) - ((less + 1) >> 24) <= Window::together;
        return false;
    }
    __device__ void add_together(const Vec16<In> *x) {
        constexpr unsigned chains = 4;
        double squares[chains] = {};
#pragma unroll
        for (unsigned i = 0; i < batch_elements; ++i) {
            const double element = float_of(x, i);
            squares[i % chains] = __fma_rn(element, element, squares[i % chains]);
        }
        const double all = squares[0] + squares[1] + (squares[2] + squares[3]), after = sum + all;
        rest += all - (after - sum);
        sum = after;
    }

    // ---- what add_segment calls ----

    __device__ void add(Vec16<In> *x) {
        const Magnitudes magnitudes = magnitudes_of<batch_elements>(x);
        const uint32_t less = magnitudes.less, most = magnitudes.most();
        if (!has(less, most)) {
            empty();
            if (isfinite(magnitudes.largest))
                place_around(most);
            if (!has(less, most))
                return add_to_bins(x);
        }
        if (are_together(less, most))
            add_together(x);
        else if (is_near(less))
            add_squares<2>(x);
        else
            add_squares<3>(x);
        taken += batch_elements;
    }
    __device__ void add_to_bins(Vec16<In> *x) {
#pragma unroll
        for (unsigned i = 0; i < 4 * batch; ++i)
            asm volatile("" : "+r"(x[i / 4].words[i % 4])); // no conversion is kept from above
#pragma unroll
        for (unsigned i = 0; i < batch_elements; i += 2) {
            const In one = element_of(x, i), other = element_of(x, i + 1);
            bins.add_products(one, one, other, other);
        }
        added += batch_elements;
    }
    __device__ void add_one(In x) {
        const uint32_t bits = twice_bits(x);
        if (has(bits - 1, bits)) {
            add_square<3>(as_float(x));
            ++taken;
        } else {
            bins.add_product(x, x);
            ++added;
        }
    }
    __device__ void step() {
        if (++steps < steps_between)
            return;
        steps = 0;
        if (taken > (1u << Window::log_adds) / 2)
            empty();
        if (__syncthreads_or(added > GR_EXACT_WIDE_FOLD - max_added))
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

// A square of a float64 is two float64 numbers, for which there is no window.
template <> struct Squares<double> {
    using Bins = ProductBins<double>;
    static constexpr unsigned loads = 8, batch = 1, max_added = 2 * (2 * loads + 2);
    Bins bins;
    unsigned added = 0; // an upper bound, equal in all threads

    __device__ Squares() : bins(block_bins<Bins>()) {
        bins.open();
    }
    __device__ void add(const Vec16<double> *x) {
        add_one(x[0].at(0));
        add_one(x[0].at(1));
    }
    __device__ void add_one(double x) {
        bins.add_product(x, x);
    }
    __device__ void step() {
        if (added + max_added > GR_EXACT_WIDE_FOLD)
            finish();
        added += max_added;
    }
    __device__ void finish() {
        fold(bins);
        added = 0;
    }
};

} // namespace gr::multi
