// Exact sums in registers: a sum is the exact value of three doubles, to which TwoSum (Knuth) adds without an
// error. An error that the third double cannot hold makes that double NaN: the sum is lost, and segment_lost
// computes it again. So each result is the exact sum, rounded once, and its bits do not depend on the order
// of additions.
#pragma once

#include "segments/ops.cuh"

namespace gr::segments {

struct TwoSum {
    double sum, error;
};
inline __device__ TwoSum two_sum(double a, double b) {
    const double sum = a + b, of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// high + middle + low, unless `low` is NaN.
struct Expansion {
    double high, middle, low;

    __device__ void add_low(double x) {
        const TwoSum two = two_sum(low, x);
        low = two.error != 0 ? double(NAN) : two.sum;
    }
    __device__ void add_middle(double x) {
        const TwoSum two = two_sum(middle, x);
        middle = two.sum;
        if (two.error != 0) // of NaN, too
            add_low(two.error);
    }
    __device__ void add(double x) {
        const TwoSum two = two_sum(high, x);
        high = two.sum;
        if (two.error != 0)
            add_middle(two.error);
    }
    __device__ void add(const Expansion &other) {
        add(other.high);
        if (other.middle != 0 || other.low != 0) {
            add_middle(other.middle);
            add_low(other.low);
        }
    }
};

template <class V> struct SegmentExactSum;
template <> struct SegmentExactSum<double> : OfValues<double> {
    using State = Expansion;
    static __device__ State identity() {
        return {-0.0, 0, 0};
    }
    static __device__ State load(double x, int64_t) {
        return {x, 0, 0};
    }
    static __device__ State combine(State a, State b) {
        a.add(b);
        return a;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};
template <> struct SegmentExactSum<ComplexParts<double>> : OfValues<ComplexParts<double>> {
    using State = ComplexParts<Expansion>;
    static __device__ State load(ComplexParts<double> x, int64_t) {
        return {{x.re, 0, 0}, {x.im, 0, 0}};
    }
    static __device__ State combine(State a, State b) {
        a.re.add(b.re);
        a.im.add(b.im);
        return a;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};

template <class F>
constexpr bool is_exact_sum = std::is_same<typename F::State, Expansion>::value ||
                              std::is_same<typename F::State, ComplexParts<Expansion>>::value;

// ---- rounding ----

// Rounds to odd: of a sum, rounded to nearest, and the sign of the error, the neighbour whose last bit is 1,
// unless the sum is exact. Rounding that to fewer digits is rounding the exact value.
inline __device__ double to_odd(double sum, double error) {
    const int64_t bits = __double_as_longlong(sum);
    if (error == 0 || bits & 1)
        return sum;
    return __longlong_as_double(bits + ((error > 0) == (sum > 0) ? 1 : -1));
}

// The doubles nearest to an exact value, and the rest, which is rounded to odd.
struct Rounded {
    double value, rest;
    bool is_exact; // the rest is, too

    // S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    __device__ explicit Rounded(const Expansion &s) {
        const TwoSum lower = two_sum(s.middle, s.low), upper = two_sum(s.high, lower.sum),
                     rest = two_sum(upper.error, lower.error),
                     all = two_sum(upper.sum, to_odd(rest.sum, rest.error));
        value = all.sum;
        this->rest = all.error;
        is_exact = rest.error == 0;
    }
    // Whether the quotient by a number of elements needs no more bits than there are.
    __device__ bool can_divide() const {
        constexpr double least = 0x1p-900; // the remainder below is no subnormal number
        return is_exact && fabs(value) >= least && (rest == 0 || fabs(rest) >= least);
    }
    __device__ void divide(double count) {
        const double quotient = value / count;
        const TwoSum left = two_sum(fma(-quotient, count, value), rest);
        const double more = to_odd(left.sum, left.error), part = more / count;
        const TwoSum all = two_sum(quotient, to_odd(part, fma(-part, count, more)));
        value = all.sum;
        rest = all.error;
    }
};

// Bits of a NaN, by which a kernel marks a lost sum: no result has them.
constexpr unsigned lost_payload = 0x1a;

// The bits of the NaN of results, plus a payload.
template <class T> __device__ T quiet_nan(unsigned payload) {
    if constexpr (std::is_same<T, double>::value)
        return __longlong_as_double(0x7ff8000000000000ll + payload);
    else if constexpr (std::is_same<T, float>::value)
        return __uint_as_float(0x7fc00000u + payload);
    else if constexpr (std::is_same<T, gr_f16>::value)
        return __ushort_as_half(uint16_t(0x7e00 + payload));
    else
        return __ushort_as_bfloat16(uint16_t(0x7fc0 + payload));
}

// The sum, or the mean of `count` elements: rounded to nearest if it is wanted in float64, else to odd. NaN
// with the payload if it is lost. A call, as copies of it would take the registers of the loops around them.
inline __device__ __noinline__ double round_sum(Expansion s, int64_t count, bool mean, bool as_double) {
    if (!as_double && !isfinite(s.high)) // no sum of elements of fewer bits overflows
        return s.high != s.high ? quiet_nan<double>(0) : s.high;
    const double lost = quiet_nan<double>(lost_payload);
    if (!isfinite(s.high) || s.low != s.low)
        return lost;
    const bool single = s.middle == 0 && s.low == 0;
    if (single && (!mean || s.high == 0)) // of 0, the sign counts
        return s.high;
    Rounded sum(s);
    if (mean && sum.value != 0) {
        if (!sum.can_divide())
            return lost;
        sum.divide(double(count));
    }
    if (!isfinite(sum.value))
        return lost;
    return as_double ? sum.value : to_odd(sum.value, sum.rest);
}

// Rounds sums, or means of `count` elements, to a result. Returns false if the sum is lost.
template <class T> __device__ bool round_to(const Expansion &s, int64_t count, bool mean, T &result) {
    const double rounded = round_sum(s, count, mean, std::is_same<T, double>::value);
    const bool lost = __double2loint(rounded) == int(lost_payload) && rounded != rounded;
    result = rounded != rounded ? quiet_nan<T>(lost ? lost_payload : 0) : Value<double>::to<T>(rounded);
    return !lost;
}

} // namespace gr::segments
