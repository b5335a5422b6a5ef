// Exact sums of a column in registers. An element is split into parts, each a multiple of a unit: the part of
// the upper bits by an addition of a large number, which rounds to the unit, and its subtraction. The parts
// are added up as doubles, without rounding as long as the exponents of all elements are in a range around
// the exponent of a sample; the caller tests the range. A number of units is an integer, so sums of pieces
// commute.
#pragma once

#include <type_traits>

#include "exact/finish.cuh"
#include "groups/planes.cuh"
#include "groups/rows/params.h"

namespace gr::groups {

using exact::Whole;

inline __device__ double power_of_two(int exponent) { // of a normal number
    return __longlong_as_double((1023ll + exponent) << 52);
}
// x / 2^exponent, an integer.
inline __device__ int64_t units_of(double x, int exponent) {
    const int half = exponent / 2;
    return __double2ll_rn(x * power_of_two(-half) * power_of_two(half - exponent));
}
inline __device__ bool is_minus_zero(double x) {
    return __double_as_longlong(x) == INT64_MIN;
}
// The error of a rounded sum.
inline __device__ double error_of(double a, double b, double sum) {
    const double b_in_sum = sum - a;
    return (a - (sum - b_in_sum)) + (b - b_in_sum);
}

// The bits of units * 2^exponent / divisor; the divisor is below 2^32.
inline __device__ uint64_t round_quotient(Whole units, int exponent, uint64_t divisor,
                                          gr_exact_format format) {
    using Bits128 = unsigned __int128;
    if (divisor == 1 || units == 0)
        return exact::round_whole(units, exponent, format);
    const bool negative = units < 0;
    const Bits128 magnitude = negative ? -static_cast<Bits128>(units) : static_cast<Bits128>(units);
    const uint64_t above = uint64_t(magnitude >> 64);
    const int shift = above != 0 ? __clzll(int64_t(above)) : 64 + __clzll(int64_t(uint64_t(magnitude)));
    const Bits128 shifted = magnitude << shift;
    uint64_t part = uint64_t(shifted >> 64), low = uint64_t(shifted);
    Bits128 quotient = part / divisor;
    uint64_t rest = part % divisor;
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
        part = rest << 32 | low >> 32;
        low <<= 32;
        quotient = quotient << 32 | part / divisor;
        rest = part % divisor;
    }
    const int more = __clzll(int64_t(uint64_t(quotient >> 64))); // the quotient has more than 96 bits
    const Bits128 leading = quotient << more;
    const gr_exact_leading head = {uint64_t(leading >> 64), exponent - shift + 64 - more,
                                   uint64_t(leading) != 0 || rest != 0};
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

// The bits of a sum and its error, in a format of at most 24 bits.
inline __device__ uint64_t round_exactly(double sum, double error, gr_exact_format format) {
    const uint64_t whole = uint64_t(__double_as_longlong(sum));
    const int exponent = int(whole >> 52 & 2047);
    gr_exact_leading head = {(whole << 11) | 1ull << 63, exponent - 1075 - 11, error != 0};
    if (error != 0 && (error < 0) != (sum < 0))
        head.bits -= 1;
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    return gr_exact_round(head, format) | (sum < 0 ? sign : 0);
}

// The same of a quotient. Returns false if the quotient is too near to where its rounding changes: these
// places have 27 zeros at the end of a double, and a quotient is less than 2 of the last bits from the exact
// one.
inline __device__ bool round_quotient_exactly(double sum, double error, double divisor,
                                              gr_exact_format format, uint64_t &bits) {
    const double quotient = sum / divisor;
    const uint32_t low = uint32_t(__double2loint(quotient)) & ((1u << 27) - 1);
    if (low != 0 && (low < 4 || low > (1u << 27) - 4))
        return false;
    bits = round_exactly(quotient, fma(-quotient, divisor, sum) + error, format);
    return true;
}

// What floats of all formats share. T and G: an element is less than 2^T units of the uppermost part, and a
// unit is 2^G units of the next part.
struct Headroom {
    int top, gap;
    __device__ explicit Headroom(const gr_sorted_rows_params &p)
        : top(53 - int(p.headroom)), gap(54 - int(p.headroom)) {
    }
};

// ---- float32, bfloat16: two parts ----

template <class In> struct FloatColumn {
    static constexpr unsigned words = 2;
    static constexpr bool has_states = true;
    using Bits = typename Planes<In>::Bits;
    double upper = 0, lower = -0.0; // `lower` is -0 as long as all elements are

    struct Scale {
        double magic;
        int unit, gap;        // the exponent of the unit of `upper`
        uint32_t bottom, top; // bits of the least and the greatest elements, shifted by one

        __device__ Scale(const gr_sorted_rows_params &p, unsigned exponent) {
            const Headroom room(p);
            gap = room.gap;
            unit = int(exponent) + 1 + GR_SORTED_MARGIN - 127 - room.top;
            unit = max(min(unit, 128 - room.top), gap - 149);
            magic = 1.5 * power_of_two(52 + unit);
            const int least = unit - gap + 23 + 127, most = unit + room.top + 127;
            bottom = least > 1 ? (uint32_t(least) << 24) - 1 : 0;
            top = uint32_t(min(most, 255)) << 24;
        }
    };
    // The range of the elements of several columns.
    struct Range {
        uint32_t most = 0, least = ~0u;
        __device__ void see(float x) {
            const uint32_t bits = __float_as_uint(x) << 1;
            most = max(most, bits);
            least = min(least, bits - 1); // a 0 is in any range
        }
        __device__ bool inside(const Scale &scale) const {
            return most < scale.top && least >= scale.bottom;
        }
    };
    static __device__ In neutral() {
        return In(-0.0f);
    }
    static __device__ float widened(float x) {
        return x;
    }
    static __device__ float widened(gr_bf16 x) {
        return __bfloat162float(x);
    }
    __device__ void add(In element, const Scale &scale, Range &range) {
        const float single = widened(element);
        range.see(single);
        const double x = single, part = (x + scale.magic) - scale.magic;
        upper += part;
        lower += x - part;
    }
    // The position of the unit of a word in a state.
    static __device__ int position(const Scale &scale, unsigned word) {
        return scale.unit - scale.gap * (1 - int(word)) + GR_EXACT_NARROW_BELOW;
    }
    __device__ bool finite() const {
        return true; // ensured by the range
    }
    __device__ bool minus_zero() const {
        return upper == 0 && is_minus_zero(lower);
    }
    __device__ void units(int64_t (&word)[words], const Scale &scale) const {
        word[0] = units_of(lower, scale.unit - scale.gap);
        word[1] = units_of(upper, scale.unit);
    }
    static __device__ __noinline__ uint64_t round_units(const int64_t (&word)[words], const Scale &scale,
                                                        uint64_t divisor) {
        return round_quotient((static_cast<Whole>(word[1]) << scale.gap) + word[0], scale.unit - scale.gap,
                              divisor, Planes<In>::format);
    }
    __device__ Bits round(const Scale &scale, uint64_t divisor) const {
        uint64_t bits;
        if (!round_fast(divisor, bits))
            bits = round_slowly(*this, scale, divisor);
        return Bits(bits);
    }

  private:
    static __device__ __noinline__ uint64_t round_slowly(FloatColumn sum, const Scale &scale,
                                                         uint64_t divisor) {
        int64_t word[words];
        sum.units(word, scale);
        return round_units(word, scale, divisor);
    }
    __device__ bool round_fast(uint64_t divisor, uint64_t &bits) const {
        double sum = upper + lower;
        const double error = error_of(upper, lower, sum);
        if (sum == 0) {
            bits = minus_zero() ? 1ull << (8 * sizeof(Bits) - 1) : 0;
            return true;
        }
        if constexpr (std::is_same<In, float>::value) {
            if (divisor != 1)
                sum /= double(divisor);
            bits = __float_as_uint(float(sum));
            // A quotient of doubles is halfway between two floats only if it is exact.
            if (error == 0)
                return true;
            // `sum` is within 2^-51 of the exact one: does that decide its rounding?
            return float(sum * (1 - 0x1p-50)) == float(sum * (1 + 0x1p-50));
        } else {
            if (divisor != 1)
                return round_quotient_exactly(sum, error, double(divisor), Planes<In>::format, bits);
            bits = round_exactly(sum, error, Planes<In>::format);
            return true;
        }
    }
};

// ---- float16: any sum of 2^12 elements is a double ----

struct HalfColumn {
    static constexpr unsigned words = 2; // the lower 32 bits of the units, and the others
    static constexpr bool has_states = true;
    static constexpr int unit = -24;
    using Bits = uint16_t;
    double sum = -0.0;

    struct Scale {
        __device__ Scale(const gr_sorted_rows_params &, unsigned) {
        }
    };
    struct Range {
        __device__ bool inside(const Scale &) const {
            return true;
        }
    };
    static __device__ gr_f16 neutral() {
        return __ushort_as_half(0x8000);
    }
    __device__ void add(gr_f16 x, const Scale &, Range &) {
        sum += __half2float(x);
    }
    static __device__ int position(const Scale &, unsigned word) {
        return unit + 32 * int(word) + GR_EXACT_NARROW_BELOW;
    }
    __device__ bool finite() const {
        return sum - sum == 0;
    }
    __device__ bool minus_zero() const {
        return is_minus_zero(sum);
    }
    __device__ void units(int64_t (&word)[words], const Scale &) const {
        const int64_t all = units_of(sum, unit);
        word[0] = uint32_t(all);
        word[1] = all >> 32;
    }
    static __device__ __noinline__ uint64_t round_units(const int64_t (&word)[words], const Scale &,
                                                        uint64_t divisor) {
        return round_quotient((static_cast<Whole>(word[1]) << 32) + word[0], unit, divisor,
                              Planes<gr_f16>::format);
    }
    __device__ Bits round(const Scale &scale, uint64_t divisor) const {
        if (sum == 0)
            return is_minus_zero(sum) ? 0x8000 : 0;
        uint64_t bits;
        if (divisor == 1)
            return Bits(round_exactly(sum, 0, Planes<gr_f16>::format));
        if (round_quotient_exactly(sum, 0, double(divisor), Planes<gr_f16>::format, bits))
            return Bits(bits);
        int64_t word[words];
        units(word, scale);
        return Bits(round_units(word, scale, divisor));
    }
};

// ---- float64: three parts ----

struct DoubleColumn {
    static constexpr unsigned words = 3;
    static constexpr bool has_states = true;
    using Bits = uint64_t;
    double upper = 0, middle = 0, lower = -0.0;

    struct Scale {
        double magic, next_magic;
        int unit, gap;
        uint32_t bottom, top; // upper words of the bits of elements, shifted by one

        __device__ Scale(const gr_sorted_rows_params &p, unsigned exponent) {
            const Headroom room(p);
            gap = room.gap;
            unit = int(exponent) + 1 + GR_SORTED_MARGIN - 1023 - room.top;
            unit = max(min(unit, 970), 2 * gap - 1074); // `magic` is finite, and the least unit a number
            magic = 1.5 * power_of_two(52 + unit);
            next_magic = 1.5 * power_of_two(52 + unit - gap);
            const int least = unit - 2 * gap + 1075, most = unit + room.top + 1023;
            bottom = least > 1 ? (uint32_t(least) << 21) - 1 : 0;
            top = uint32_t(min(most, 2047)) << 21;
        }
    };
    struct Range {
        uint32_t most = 0, least = ~0u;
        __device__ void see(double x) {
            const uint32_t low = uint32_t(__double2loint(x));
            const uint32_t bits = uint32_t(__double2hiint(x)) << 1 | uint32_t(low != 0);
            most = max(most, bits);
            least = min(least, bits - 1);
        }
        __device__ bool inside(const Scale &scale) const {
            return most < scale.top && least >= scale.bottom;
        }
    };
    static __device__ double neutral() {
        return -0.0;
    }
    __device__ void add(double x, const Scale &scale, Range &range) {
        range.see(x);
        const double part = (x + scale.magic) - scale.magic, rest = x - part;
        const double next = (rest + scale.next_magic) - scale.next_magic;
        upper += part;
        middle += next;
        lower += rest - next;
    }
    static __device__ int position(const Scale &scale, unsigned word) {
        return scale.unit - scale.gap * (2 - int(word)) + GR_EXACT_WIDE_BELOW;
    }
    __device__ bool finite() const {
        return true;
    }
    __device__ bool minus_zero() const {
        return upper == 0 && middle == 0 && is_minus_zero(lower);
    }
    __device__ void units(int64_t (&word)[words], const Scale &scale) const {
        word[0] = units_of(lower, scale.unit - 2 * scale.gap);
        word[1] = units_of(middle, scale.unit - scale.gap);
        word[2] = units_of(upper, scale.unit);
    }
    static __device__ __noinline__ uint64_t round_units(const int64_t (&word)[words], const Scale &scale,
                                                        uint64_t divisor) {
        constexpr unsigned count = 10;
        int64_t state[count];
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < count; ++i)
            state[i] = 0;
        state[count - 1] = GR_EXACT_NOT_MINUS_ZERO;
        const unsigned position = unsigned(GR_EXACT_WIDE_BELOW + scale.unit - 2 * scale.gap),
                       from = position / 32;
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < words; ++i) {
            const unsigned at = position + i * unsigned(scale.gap) - 32 * from;
            const gr_exact_addends pieces = gr_exact_split(word[i], at);
            for (unsigned k = 0; k < 3; ++k)
                state[at / 32 + k] += pieces.at[k];
        }
        return gr_exact_result(state, {count, GR_EXACT_WIDE_BELOW - 32 * from}, divisor,
                               Planes<double>::format);
    }
    __device__ Bits round(const Scale &scale, uint64_t divisor) const {
        // upper + middle + lower as a sum of two: `sum` and `error`, if nothing is left.
        const double a = middle + lower, b = error_of(middle, lower, a);
        const double s = upper + a, t = error_of(upper, a, s);
        const double u = t + b, left = error_of(t, b, u);
        const double sum = s + u, error = error_of(s, u, sum);
        if (left == 0) {
            if (sum == 0)
                return minus_zero() ? 1ull << 63 : 0;
            if (divisor == 1)
                return Bits(__double_as_longlong(sum));
            const double n = double(divisor), quotient = sum / n, magnitude = fabs(quotient);
            const double more = (fma(-quotient, n, sum) + error) / n; // within 2^-51 of it
            const double least = quotient + more * (1 - 0x1p-40), most = quotient + more * (1 + 0x1p-40);
            if (least == most && magnitude > 0x1p-900)
                return Bits(__double_as_longlong(least));
        }
        return round_slowly(*this, scale, divisor);
    }

  private:
    static __device__ __noinline__ uint64_t round_slowly(DoubleColumn sum, const Scale &scale,
                                                         uint64_t divisor) {
        int64_t word[words];
        sum.units(word, scale);
        return round_units(word, scale, divisor);
    }
};

// ---- integers: sums wrap, means are of float64 ----

template <class In> struct IntegerColumn {
    static constexpr bool is_wide = sizeof(In) == 8;
    static constexpr unsigned words = is_wide ? 2 : 1; // of elements of 64 bits: the lower 32, and the others
    static constexpr bool has_states = false;
    using Bits = uint64_t;
    int64_t word[words] = {};

    struct Scale {
        bool mean;
        __device__ Scale(const gr_sorted_rows_params &p, unsigned) : mean(p.rows.options & GR_GROUP_MEAN) {
        }
    };
    struct Range {
        __device__ bool inside(const Scale &) const {
            return true;
        }
    };
    static __device__ In neutral() {
        return In{0};
    }
    static __device__ int64_t integer_of(gr_bool x) {
        return x.value != 0;
    }
    template <class T> static __device__ int64_t integer_of(T x) {
        return int64_t(x);
    }
    __device__ void add(In x, const Scale &, Range &) {
        if constexpr (is_wide) {
            word[0] += uint32_t(x);
            word[1] += int64_t(x >> 32);
        } else {
            word[0] += integer_of(x);
        }
    }
    __device__ bool finite() const {
        return true;
    }
    __device__ bool minus_zero() const {
        return false;
    }
    __device__ void units(int64_t (&words_of)[words], const Scale &) const {
#pragma unroll
        for (unsigned i = 0; i < words; ++i)
            words_of[i] = word[i];
    }
    static __device__ uint64_t round_units(const int64_t (&word)[words], const Scale &scale,
                                           uint64_t divisor) {
        if (!scale.mean)
            return uint64_t(word[0]) + (is_wide ? uint64_t(word[words - 1]) << 32 : 0);
        Whole whole = word[0];
        if constexpr (is_wide)
            whole += static_cast<Whole>(word[1]) << 32;
        const int64_t sum = int64_t(whole);
        if (sum == whole && sum < 1ll << 53 && sum > -(1ll << 53))
            return uint64_t(__double_as_longlong(double(sum) / double(divisor)));
        return round_slowly(whole, divisor);
    }
    __device__ Bits round(const Scale &scale, uint64_t divisor) const {
        return round_units(word, scale, divisor);
    }
    static __device__ __noinline__ uint64_t round_slowly(Whole whole, uint64_t divisor) {
        return round_quotient(whole, 0, divisor, Planes<int64_t>::format);
    }
};

template <class In> struct ColumnOf { using type = IntegerColumn<In>; };
template <> struct ColumnOf<float> { using type = FloatColumn<float>; };
template <> struct ColumnOf<gr_bf16> { using type = FloatColumn<gr_bf16>; };
template <> struct ColumnOf<gr_f16> { using type = HalfColumn; };
template <> struct ColumnOf<double> { using type = DoubleColumn; };
template <class In> using Column = typename ColumnOf<In>::type;

} // namespace gr::groups
