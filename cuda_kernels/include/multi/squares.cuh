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
// of the least square: 2 * (exponent - 23) for float32, 2 * (exponent - 7) for bfloat16. This gives the
// spans. What the first rounding of squares of elements within `near` binades leaves out are multiples of the
// unit of the second double, which then needs no third.
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
    static constexpr int levels = 3, span = 54, near = 32, log_adds = 11;
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

// The same of element number i of several vectors.
template <class In> __device__ uint32_t twice_bits_of(const Vec16<In> *x, unsigned i) {
    return 2 * __float_as_uint(float_of(x, i));
}
template <> inline __device__ uint32_t twice_bits_of(const Vec16<gr_bf16> *x, unsigned i) {
    const uint32_t two = word_of(x, i / 2);
    return i % 2 == 0 ? two << 17 : two << 1 & 0xfffe0000;
}

// Of some elements; NaNs are larger than infinity.
struct Magnitudes {
    uint32_t most = 0;   // twice_bits() of the largest
    uint32_t less = ~0u; // twice_bits() of the smallest but 0, minus 1

    __device__ bool are_finite() const {
        return most < 0xff000000;
    }
    // The distance of their exponents, or more.
    __device__ uint32_t apart() const {
        return (most >> 24) - ((less + 1) >> 24);
    }
};
// Two chains of comparisons, each of which waits for the one before.
template <unsigned N, class In> __device__ Magnitudes each_magnitude_of(const Vec16<In> *x) {
    Magnitudes found[2];
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
        const uint32_t bits = twice_bits_of(x, i);
        found[i % 2].most = max(found[i % 2].most, bits);
        found[i % 2].less = min(found[i % 2].less, bits - 1);
    }
    return {max(found[0].most, found[1].most), min(found[0].less, found[1].less)};
}

#if __CUDA_ARCH__ >= 900

// The larger and the smaller ones of two pairs of elements; NaN is the largest. The compiler makes
// instructions of three operands of them (VHMNMX), of which an element takes one.
template <class In> struct Pairs;
template <> struct Pairs<gr_bf16> {
    static __device__ uint32_t max_of(uint32_t a, uint32_t b) {
        uint32_t most;
        asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
        return most;
    }
    static __device__ uint32_t min_of(uint32_t a, uint32_t b) {
        uint32_t least;
        asm("min.bf16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
        return least;
    }
};
template <> struct Pairs<gr_f16> {
    static __device__ uint32_t max_of(uint32_t a, uint32_t b) {
        uint32_t most;
        asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
        return most;
    }
    static __device__ uint32_t min_of(uint32_t a, uint32_t b) {
        uint32_t least;
        asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
        return least;
    }
};

// Two-byte elements are compared in pairs. If one of them is 0, all are compared again, as the smallest but 0
// counts.
template <unsigned N, class In> __device__ Magnitudes magnitudes_of(const Vec16<In> *x) {
    if constexpr (sizeof(In) == 2) {
        constexpr uint32_t magnitude_bits = 0x7fff7fff;
        Vec16<In> ends;
        uint32_t most[2], least[2];
        most[0] = least[0] = word_of(x, 0) & magnitude_bits;
        most[1] = least[1] = word_of(x, 1) & magnitude_bits;
#pragma unroll
        for (unsigned i = 2; i < N / 2; ++i) {
            const uint32_t two = word_of(x, i) & magnitude_bits;
            most[i % 2] = Pairs<In>::max_of(most[i % 2], two);
            least[i % 2] = Pairs<In>::min_of(least[i % 2], two);
        }
        ends.set_word(0, Pairs<In>::max_of(most[0], most[1]));
        ends.set_word(1, Pairs<In>::min_of(least[0], least[1]));
        Magnitudes found = {max(twice_bits_of(&ends, 0), twice_bits_of(&ends, 1)),
                            min(twice_bits_of(&ends, 2), twice_bits_of(&ends, 3)) - 1};
        if (found.less == ~0u)
            found.less = each_magnitude_of<N>(x).less;
        return found;
    }
    return each_magnitude_of<N>(x);
}

#else

template <unsigned N, class In> __device__ Magnitudes magnitudes_of(const Vec16<In> *x) {
    return each_magnitude_of<N>(x);
}

#endif

// The magnitude of element number i of several vectors, if it is finite.
template <class In> __device__ double magnitude_of(const Vec16<In> *x, unsigned i) {
    return float_of(x, i);
}
// The bits of an exponent and a significand, at those of a double, are the number by a power of two, also of
// a subnormal number. A multiplication takes a quarter of the time of a conversion.
template <> inline __device__ double magnitude_of(const Vec16<gr_bf16> *x, unsigned i) {
    const uint32_t two = word_of(x, i / 2);
    const uint32_t high = i % 2 == 0 ? (two & 0x7fff) << 13 : two >> 3 & 0x0fffe000;
    return __hiloint2double(static_cast<int>(high), 0) * 0x1p896;
}
template <> inline __device__ double magnitude_of(const Vec16<gr_f16> *x, unsigned i) {
    const uint32_t two = word_of(x, i / 2);
    const uint32_t high = i % 2 == 0 ? (two & 0x7fff) << 10 : two >> 6 & 0x01fffc00;
    return __hiloint2double(static_cast<int>(high), 0) * 0x1p1008;
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

    __device__ bool has(const Magnitudes &magnitudes) const {
        return magnitudes.most < upper && magnitudes.less >= lower;
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
        const double left = __fma_rn(x, x, -(after - sum));
        sum = after;
        leave_out<Levels>(left);
    }
    // Adds what a rounding of the first double leaves out.
    template <int Levels> __device__ void leave_out(double left) {
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
    static __device__ bool are_together(const Magnitudes &magnitudes) {
        if constexpr (sizeof(In) == 2)
            return magnitudes.apart() <= Window::together;
        return false;
    }
    __device__ void add_together(const Vec16<In> *x) {
        constexpr unsigned chains = 4;
        double squares[chains] = {};
#pragma unroll
        for (unsigned i = 0; i < batch_elements; ++i) {
            const double element = magnitude_of(x, i);
            squares[i % chains] = __fma_rn(element, element, squares[i % chains]);
        }
        const double all = squares[0] + squares[1] + (squares[2] + squares[3]), after = sum + all;
        const double left = all - (after - sum);
        sum = after;
        leave_out<3>(left);
    }

    // ---- what add_segment calls ----

    __device__ void add(Vec16<In> *x) {
        const Magnitudes magnitudes = magnitudes_of<batch_elements>(x);
        if (!has(magnitudes)) {
            empty();
            if (magnitudes.are_finite())
                place_around(magnitudes.most);
            if (!has(magnitudes))
                return add_to_bins(x);
        }
        if (are_together(magnitudes))
            add_together(x);
        else if (is_near(magnitudes.less))
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
        if (has({bits, bits - 1})) {
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
