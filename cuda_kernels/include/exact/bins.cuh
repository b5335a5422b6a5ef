// A thread's accumulators of an exact sum before carries are propagated: bins in shared memory, indexed by
// the upper bits of the exponent. A bin is exact until it has been added to `fold` times (see params.h).
#pragma once

#include <cstdint>

#include "common/element_types.cuh"
#include "exact/block.cuh"

namespace gr::exact {

template <class In> __device__ double as_double(In x) {
    if constexpr (sizeof(In) == 2)
        return static_cast<float>(x);
    else
        return x;
}

inline __device__ double power_of_two(int exponent) { // a normal number
    return __longlong_as_double(static_cast<long long>(1023 + exponent) << 52);
}

inline __device__ bool is_minus_zero(double x) {
    return __double_as_longlong(x) == INT64_MIN;
}

// The flags of a bin that was added to; 0 if only -0 was added. The flags of infinity and NaN determine the
// result, so the integers of such a bin do not matter. The first part of a pair decides: infinity leaves NaN
// in the second.
inline __device__ uint32_t flags_of(double x) {
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x));
    if ((bits >> 52 & 2047) != 2047)
        return bits == 1ull << 63 ? 0 : GR_EXACT_NOT_MINUS_ZERO;
    return GR_EXACT_NOT_MINUS_ZERO | (bits << 12 != 0 ? GR_EXACT_NAN
                                      : bits >> 63    ? GR_EXACT_MINUS_INFINITY
                                                      : GR_EXACT_INFINITY);
}

// A whole number of units of a bin, as integers: high * 2^high_at + low, where the bins have two parts.
struct Units {
    int64_t low, high;
};

// Whether a bin, or the second part of one, was added to.
inline __device__ bool is_used(double x) {
    return !is_minus_zero(x);
}
inline __device__ bool is_used(double2 pair) {
    return !is_minus_zero(pair.y);
}
// Infinities and NaNs are in the first part of a pair.
inline __device__ uint32_t flags_of(double2 pair) {
    return isfinite(pair.x) ? is_used(pair) ? GR_EXACT_NOT_MINUS_ZERO : 0 : flags_of(pair.x);
}

// The state that elements of a dtype are added to.
template <class In> __device__ constexpr gr_exact_size state_size() {
    return sizeof(In) > 4 ? gr_exact_size{GR_EXACT_WIDE_WORDS, GR_EXACT_WIDE_BELOW}
                          : gr_exact_size{GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
}

// Bins of dtypes narrower than float64: COUNT doubles of each thread, in a column for each of THREADS
// threads. The unit of the first bin is 2^-UNIT, that of each next bin is 2^STEP times as much.
template <unsigned COUNT, unsigned THREADS, int UNIT, int STEP> struct DoubleBins {
    static constexpr gr_exact_size size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
    static constexpr unsigned count = COUNT, each = 1, most_threads = THREADS, loads = 4, soon = 0;
    static constexpr bool in_order = false;
    static constexpr unsigned high_at = 0;
    static constexpr bool in_pairs = false; // elements are added one by one

    // The sum in a bin of another thread.
    __device__ static double look(const unsigned char *bins, unsigned bin, unsigned thread) {
        return reinterpret_cast<const double *>(bins)[bin * most_threads + thread];
    }
    __device__ static void count_units(double value, unsigned bin, Units &sum) {
        sum.low += __double2ll_rn(value * power_of_two(UNIT - STEP * static_cast<int>(bin)));
    }
    __device__ static void empty(unsigned char *bins, unsigned bin, unsigned thread) {
        reinterpret_cast<double *>(bins)[bin * most_threads + thread] = -0.0;
    }
    __device__ static unsigned position(unsigned bin) {
        return size.below - UNIT + STEP * bin;
    }
};

// Of float32: 16 doubles, by the upper 4 bits of the exponent, in units of the last bit of the least
// exponent. A bin's values are less than 2^39 units, so that 53 bits hold 8,192 of them and more.
template <class In> struct NarrowBins : DoubleBins<GR_EXACT_NARROW_BINS, GR_EXACT_THREADS, 150, 16> {
    double *column;

    __device__ NarrowBins(unsigned char *bins) : column(reinterpret_cast<double *>(bins) + threadIdx.x) {
    }
    __device__ void open() {
#pragma unroll
        for (unsigned bin = 0; bin < count; ++bin)
            column[bin * most_threads] = -0.0;
    }
    __device__ void add(float x) {
        column[(__float_as_uint(x) >> 27 & (count - 1)) * most_threads] += x;
    }
    __device__ void normalize() {
    }
};

// Of bfloat16: 32 floats, by the upper 5 bits of the exponent, whose values are less than 2^15 units: 24 bits
// hold 512 of them. Then they go to 8 doubles, each of which takes 4 bins: less than 2^39 units again. All
// are by 2^-16, as 512 of the largest may be more than a float holds; the last bit of the least is still one
// of a float.
template <> struct NarrowBins<gr_bf16> : DoubleBins<8, GR_EXACT_HALF_THREADS, 134, 32> {
    static constexpr unsigned soon = 512, floats = 32;
    static constexpr bool in_order = true;
    unsigned char *column; // of floats, behind the doubles of all threads

    __device__ NarrowBins(unsigned char *bins) : column(bins + count * most_threads * 8 + threadIdx.x * 4) {
    }
    __device__ double *own() {
        return reinterpret_cast<double *>(column - count * most_threads * 8 - threadIdx.x * 4) + threadIdx.x;
    }
    __device__ float &place(unsigned bin) {
        return *reinterpret_cast<float *>(column + bin * (most_threads * 4));
    }
    __device__ void open() {
#pragma unroll
        for (unsigned bin = 0; bin < floats; ++bin)
            place(bin) = -0.0f;
#pragma unroll
        for (unsigned bin = 0; bin < count; ++bin)
            own()[bin * most_threads] = -0.0;
    }
    __device__ void add(gr_bf16 x) {
        constexpr unsigned step = most_threads * 4 >> 10; // the bits of the bin are worth 2^10 where they are
        float &sum =
            *reinterpret_cast<float *>(column + (__bfloat16_as_ushort(x) & (floats - 1) << 10) * step);
        sum = __fmaf_rn(__bfloat162float(x), 0x1p-16f, sum);
    }
    __device__ void normalize() {
        double *to = own();
#pragma unroll
        for (unsigned bin = 0; bin < floats; ++bin) {
            to[bin / 4 * most_threads] += static_cast<double>(place(bin)) * 0x1p16;
            place(bin) = -0.0f;
        }
    }
};

// Of float16: one double, in a register, holds as many of its values as the bins above.
template <> struct NarrowBins<gr_f16> : DoubleBins<1, GR_EXACT_THREADS, 24, 0> {
    double *column, sum;

    __device__ NarrowBins(unsigned char *bins) : column(reinterpret_cast<double *>(bins) + threadIdx.x) {
    }
    __device__ void open() {
        sum = -0.0;
    }
    __device__ void add(gr_f16 element) {
        sum += __half2float(element);
    }
    __device__ void normalize() {
        *column = sum;
        sum = -0.0;
    }
    __device__ static void empty(unsigned char *, unsigned, unsigned) { // normalize() puts another there
    }
};

inline __device__ unsigned high_bits(double x) {
    return static_cast<unsigned>(__double2hiint(x));
}

// Of float64: 64 pairs of doubles, by the upper 6 bits of the exponent; a value is less than 2^84 units of a
// bin. The first of a pair is a rounded sum, the second the sum of what its roundings left out. The first
// begins at 3 * 2^94 units, so that it is larger than any value, for which three additions give the rounding
// and what it left out (T. J. Dekker): 1,024 values leave it between 2^95 and 2^96, and 1,024 errors of up to
// 2^42 units add up without another rounding. The last bin has its values by 2^-64, or a double would not
// hold their sum. Products of float32 have 19 of the bins, from FIRST on: the bin of the least and of 0,
// those up to the greatest, and one for infinities and NaNs.
template <unsigned Words, unsigned Below, unsigned First, unsigned Count, unsigned Threads, unsigned Loads>
struct PairBins {
    static constexpr gr_exact_size size = {Words, Below};
    static constexpr unsigned first = First, count = Count, each = 1, most_threads = Threads;
    static constexpr unsigned loads = Loads, soon = 0;
    static constexpr bool in_order = Loads > 4, in_pairs = true;
    static constexpr unsigned high_at = 43; // where the last bit of a sum is, in those of a value
    static constexpr bool all = count == GR_EXACT_WIDE_BINS;
    double2 *column;

    __device__ PairBins(unsigned char *bins) : column(reinterpret_cast<double2 *>(bins) + threadIdx.x) {
    }
    // The exponent of the unit of a bin, and where its sum begins.
    __device__ static int exponent(unsigned bin) {
        const unsigned scaled = all && bin == count - 1 ? bin - 2 : bin;
        return 32 * static_cast<int>(first + scaled) - 1075;
    }
    __device__ static double start(unsigned bin) {
        return 1.5 * power_of_two(95 + exponent(bin));
    }
    __device__ void open() {
        for (unsigned bin = 0; bin < count; ++bin)
            column[bin * blockDim.x] = make_double2(start(bin), -0.0);
    }
    // The bin of a number, which it makes fit for it.
    __device__ static unsigned bin_of(double &x) {
        const unsigned bin = high_bits(x) >> 25 & (GR_EXACT_WIDE_BINS - 1);
        if constexpr (!all)
            return min(max(bin, first), first + count - 1) - first;
        if (bin == count - 1)
            x *= 0x1p-64;
        return bin;
    }
    // The second stays -0 if all values are.
    __device__ static double2 sum(double2 pair, double x) {
        const double sum = pair.x + x;
        return make_double2(sum, pair.y + (x - (sum - pair.x)));
    }
    __device__ void add(double x) {
        double2 &place = column[bin_of(x) * blockDim.x];
        place = sum(place, x);
    }
    // One after the other, except that loads and most of the additions do not wait for each other.
    __device__ void add_two(double x, double y) {
        const unsigned of_x = bin_of(x) * blockDim.x, of_y = bin_of(y) * blockDim.x;
        const double2 before = column[of_x], other = column[of_y];
        const double2 one = sum(before, x);
        const bool same = of_x == of_y;
        const double2 two = sum(make_double2(same ? one.x : other.x, same ? one.y : other.y), y);
        column[of_x] = one;
        column[of_y] = two;
    }
    __device__ void normalize() {
    }
    __device__ static double2 look(const unsigned char *bins, unsigned bin, unsigned thread) {
        return reinterpret_cast<const double2 *>(bins)[bin * blockDim.x + thread];
    }
    // The sum and where it began are doubles of one exponent, whose bits differ by as many last bits.
    __device__ static void count_units(double2 pair, unsigned bin, Units &sum) {
        const int upto = -exponent(bin); // may be more than a double has
        sum.high += __double_as_longlong(pair.x) - __double_as_longlong(start(bin));
        sum.low += __double2ll_rn(pair.y * power_of_two(upto / 2) * power_of_two(upto - upto / 2));
    }
    __device__ static void empty(unsigned char *bins, unsigned bin, unsigned thread) {
        reinterpret_cast<double2 *>(bins)[bin * blockDim.x + thread] = make_double2(start(bin), -0.0);
    }
    __device__ static unsigned position(unsigned bin) {
        return size.below - 1075 + 32 * (first + bin);
    }
};

// 2^28 of them on an H200: 509 us with 24 loads in flight, 531 with 16, 508 with 28; where ptxas puts them
// at the end of the loop 593 and 585. Products of float32 take 491 with 4, 511 with 8.
template <unsigned Words = GR_EXACT_WIDE_WORDS, unsigned Below = GR_EXACT_WIDE_BELOW>
using WideBins = PairBins<Words, Below, 0, GR_EXACT_WIDE_BINS, GR_EXACT_WIDE_THREADS, 24>;
using NarrowProducts = PairBins<GR_EXACT_WIDE_WORDS, GR_EXACT_WIDE_BELOW, GR_EXACT_PRODUCT_FIRST,
                                GR_EXACT_PRODUCT_BINS, GR_EXACT_WIDE_THREADS, 4>;

// Products of narrower elements are exact as float64.
template <class In> struct ProductBins : NarrowProducts {
    using NarrowProducts::NarrowProducts;

    __device__ void add_product(In x, In y) {
        add(as_double(x) * as_double(y));
    }
    __device__ void add_products(In x, In y, In next_x, In next_y) {
        add_two(as_double(x) * as_double(y), as_double(next_x) * as_double(next_y));
    }
};

// A product of float64 is a float64 and its rounding error, which is a float64, too, unless either is too
// small or too large. Such products go to the block's state at once, bit by bit.
template <> struct ProductBins<double> : WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW> {
    using Base = WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW>;
    using Base::Base;
    static constexpr unsigned each = 2; // additions to bins

    __device__ void add_product(double x, double y) {
        constexpr unsigned least =
            64; // biased; the last bit of the rounding error is the last bit of a double
        double product = __dmul_rn(x, y), rest = __fma_rn(x, y, -product);
        const unsigned exponent = high_bits(product) >> 20 & 2047;
        if (exponent - least >= 2047 - least) {
            rest = -0.0;
            if (x != 0 && y != 0 && isfinite(x) && isfinite(y)) {
                add_bits(x, y);
                product = -0.0;
            }
        }
        add_two(product, rest);
    }
    __device__ void add_products(double x, double y, double next_x, double next_y) {
        add_product(x, y);
        add_product(next_x, next_y);
    }
    static __device__ __noinline__ void add_bits(double x, double y) {
        const gr_exact_decomposed a = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(x)));
        const gr_exact_decomposed b = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(y)));
        const uint64_t first = static_cast<uint64_t>(llabs(a.value)),
                       second = static_cast<uint64_t>(llabs(b.value));
        const uint64_t low = first * second, high = __umul64hi(first, second);
        const int64_t sign = (a.value ^ b.value) < 0 ? -1 : 1;
        const unsigned position = a.position + b.position - 2 * 1075 + size.below;
        int64_t *state = block_state();
        add_pieces(state, sign * static_cast<int64_t>(low & 0xffffffffffff), position);
        add_pieces(state, sign * static_cast<int64_t>(low >> 48 | high << 16), position + 48);
        join_block_flags(state + size.words - 1, GR_EXACT_NOT_MINUS_ZERO);
    }
};

} // namespace gr::exact
