// Exact sums in registers: a sum is the exact value of three doubles, to which TwoSum (Knuth) adds without an
// error. An error that the third double cannot hold makes that double NaN: the sum is lost, and segment_lost
// computes it again. So each result is the exact sum, rounded once, and its bits do not depend on the order
// of additions.
#pragma once

#include "grid/block_state.cuh"
#include "segments/ops.cuh"

namespace gr::segments {

struct TwoSum {
    double sum, error;
};
inline __device__ TwoSum two_sum(double a, double b) {
    const double sum = a + b, of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// The exact sum of a batch whose exponents are near each other: high + low. `low` is the sum of the errors of
// `high`, which is exact as they are multiples of the last bit of the least element, and not many.
struct Near {
    double high = -0.0, low = 0;

    __device__ void add(double x) {
        const TwoSum two = two_sum(high, x);
        high = two.sum;
        low += two.error;
    }
    __device__ void add(const Near &other) {
        add(other.high);
        low += other.low;
    }
};

// Exponents of the elements of a batch.
struct Exponents {
    uint32_t most = 0,
             least = ~0u; // upper words: of the greatest magnitude; of the least, twice its word less 1

    // `Bits` are those of the elements before they became doubles.
    template <unsigned Bits> __device__ void include(double x) {
        const uint32_t upper = uint32_t(__double2hiint(x)) & 0x7fffffff;
        const uint32_t more = Bits == 64 && __double2loint(x) != 0; // of subnormal numbers, all that there is
        most = max(most, upper);
        least = min(least, 2 * upper + more - 1); // zeros wrap: they do not count
    }
    // Whether the ranges of all lanes are up to `apart` apart, by a comparison with the greatest of lane 0
    // alone. That takes less time than join_warp().
    __device__ bool are_near_those_of_lane_0(int apart) const {
        constexpr int above = 3;
        const int top = int(__shfl_sync(0xffffffffu, most, 0) >> 20) + above;
        return __all_sync(0xffffffffu,
                          top < 2030 && int(most >> 20) <= top && int(least >> 21) >= top - apart);
    }
    __device__ void join_warp() {
#pragma unroll
        for (unsigned apart = 16; apart > 0; apart /= 2) {
            most = max(most, __shfl_xor_sync(0xffffffffu, most, apart));
            least = min(least, __shfl_xor_sync(0xffffffffu, least, apart));
        }
    }
    // The greatest less the least exponent, or a large number if a sum may overflow.
    __device__ int apart() const {
        return most >> 20 >= 2030 ? 4096 : int(most >> 20) - int(least >> 21);
    }
};

// Adds the error of an error, which few sums have.
inline __device__ __noinline__ double add_low(double low, double x) {
    const TwoSum two = two_sum(low, x);
    return two.error != 0 ? double(NAN) : two.sum;
}

// high + middle + low, unless `low` is NaN.
struct Expansion {
    double high, middle, low;

    __device__ void add_middle(double x) {
        const TwoSum two = two_sum(middle, x);
        middle = two.sum;
        if (two.error != 0) // of NaN, too
            low = add_low(low, two.error);
    }
    __device__ void add(double x) {
        const TwoSum two = two_sum(high, x);
        high = two.sum;
        if (two.error != 0)
            add_middle(two.error);
    }
    __device__ void add(const Near &other) {
        add(other.high);
        if (other.low != 0)
            add_middle(other.low);
    }
};
// Calls, as copies of them would fill the instruction cache.
inline __device__ __noinline__ Expansion sum_of(Expansion a, Expansion b) {
    a.add(b.high);
    if (b.middle != 0)
        a.add_middle(b.middle);
    if (b.low != 0)
        a.low = add_low(a.low, b.low);
    return a;
}
inline __device__ __noinline__ Expansion sum_of(Expansion a, double x) {
    a.add(x);
    return a;
}

// Adds elements to an Expansion without a branch, unless the errors of errors count. Narrow: first tries to
// add them to the first double alone, which holds most sums of elements of fewer bits.
template <bool Narrow, unsigned Count> __device__ void add_all(Expansion &sum, const double (&x)[Count]) {
    double high = sum.high, middle = sum.middle;
    bool exact = true;
    if (Narrow) {
#pragma unroll
        for (unsigned j = 0; j < Count; ++j) {
            const TwoSum first = two_sum(high, x[j]);
            high = first.sum;
            exact = exact && first.error == 0; // not of NaN
        }
        if (exact) {
            sum.high = high;
            return;
        }
        high = sum.high;
        exact = true;
    }
#pragma unroll
    for (unsigned j = 0; j < Count; ++j) {
        const TwoSum first = two_sum(high, x[j]), second = two_sum(middle, first.error);
        high = first.sum;
        middle = second.sum;
        exact = exact && second.error == 0;
    }
    if (exact) {
        sum.high = high;
        sum.middle = middle;
        return;
    }
#pragma unroll 1
    for (unsigned j = 0; j < Count; ++j) {
        double next = x[0]; // registers have no numbers
#pragma unroll
        for (unsigned i = 1; i < Count; ++i)
            next = i == j ? x[i] : next;
        sum = sum_of(sum, next);
    }
}

// Adds up the sums of the first `lanes` lanes of a warp for lane 0, if all partial sums are exact in one
// double (Narrow) or in two. Else returns false.
template <bool Narrow> __device__ bool add_lanes(Expansion &x, unsigned lanes) {
    bool exact = (!Narrow || x.middle == 0) && x.low == 0;
#pragma unroll
    for (unsigned apart = 16; apart > 0; apart /= 2) {
        if (apart >= lanes)
            continue;
        const TwoSum high = two_sum(x.high, __shfl_xor_sync(0xffffffffu, x.high, apart));
        x.high = high.sum;
        if (Narrow) {
            exact = exact && high.error == 0; // not of NaN
        } else {
            const TwoSum both = two_sum(x.middle, __shfl_xor_sync(0xffffffffu, x.middle, apart)),
                         middle = two_sum(both.sum, high.error);
            x.middle = middle.sum;
            exact = exact && both.error == 0 && middle.error == 0;
        }
    }
    if (Narrow)
        x.middle = 0;
    x.low = 0;
    return __all_sync(0xffffffffu, exact);
}

// The sum of the first `lanes` lanes of a warp, for lane 0.
template <bool Narrow> __device__ Expansion sum_of_lanes(Expansion x, unsigned lanes) {
    if (Expansion sum = x; add_lanes<Narrow>(sum, lanes))
        return sum;
#pragma unroll 1
    for (unsigned apart = 16; apart > 0; apart /= 2)
        if (apart < lanes)
            x = sum_of(x, grid::shuffle_down(x, apart));
    return x;
}

template <class V> struct SegmentExactSum;
template <> struct SegmentExactSum<double> : OfValues<double> {
    using State = Expansion;
    static __device__ State identity() {
        return {-0.0, 0, 0};
    }
    static __device__ double nothing() {
        return 0;
    }
    static __device__ State load(double x, int64_t) {
        return {x, 0, 0};
    }
    static __device__ State combine(State a, State b) {
        return sum_of(a, b);
    }
    static __device__ State append(State s, double x, int64_t) {
        s.add(x);
        return s;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};
template <> struct SegmentExactSum<ComplexParts<double>> : OfValues<ComplexParts<double>> {
    using State = ComplexParts<Expansion>;
    static __device__ ComplexParts<double> nothing() {
        return {0, 0};
    }
    static __device__ State load(ComplexParts<double> x, int64_t) {
        return {{x.re, 0, 0}, {x.im, 0, 0}};
    }
    static __device__ State combine(State a, State b) {
        return {sum_of(a.re, b.re), sum_of(a.im, b.im)};
    }
    static __device__ State append(State s, ComplexParts<double> x, int64_t) {
        s.re.add(x.re);
        s.im.add(x.im);
        return s;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};
template <class F>
constexpr bool is_exact_sum = std::is_same<typename F::State, Expansion>::value ||
                              std::is_same<typename F::State, ComplexParts<Expansion>>::value;

// A State and an element more.
template <class F> __device__ typename F::State append(typename F::State s, typename F::Held x, int64_t row) {
    if constexpr (is_exact_sum<F>)
        return F::append(s, x, row);
    else
        return F::combine(s, F::load(x, row));
}

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

// `lost`: the address of the word of gr_lost_sums_params; 0: the caller looks at the result.
inline __device__ double mark_lost(uint64_t lost) {
    auto *word = reinterpret_cast<uint32_t *>(lost);
    if (word != nullptr && *reinterpret_cast<volatile uint32_t *>(word) == 0)
        atomicOr(word, 1u);
    return quiet_nan<double>(lost_payload);
}

// The sum, or the mean of `count` elements: rounded to nearest if it is wanted in float64, else to odd. NaN
// with the payload if it is lost. A call, as copies of it would take the registers of the loops around it.
inline __device__ __noinline__ double round_sum(Expansion s, int64_t count, bool mean, bool as_double,
                                                uint64_t lost) {
    if (mean && count == 0) // all are NaN and skipped
        return quiet_nan<double>(0);
    if (!as_double && !isfinite(s.high)) // no sum of elements of fewer bits overflows
        return s.high != s.high ? quiet_nan<double>(0) : s.high;
    if (!isfinite(s.high) || s.low != s.low)
        return mark_lost(lost);
    if (s.middle == 0 && s.low == 0 && (!mean || s.high == 0)) // of 0, the sign counts
        return s.high;
    Rounded sum(s);
    if (mean && sum.value != 0) {
        if (!sum.can_divide())
            return mark_lost(lost);
        sum.divide(double(count));
    }
    if (!isfinite(sum.value))
        return mark_lost(lost);
    return as_double ? sum.value : to_odd(sum.value, sum.rest);
}

template <class T> __device__ T narrowed(double x) {
    const bool lost = __double2loint(x) == int(lost_payload);
    return x == x ? Value<double>::to<T>(x) : quiet_nan<T>(lost ? lost_payload : 0);
}
inline __device__ __noinline__ void store_half(uint64_t out, uint64_t index, double x, bool as_bf16) {
    if (as_bf16)
        reinterpret_cast<gr_bf16 *>(out)[index] = narrowed<gr_bf16>(x);
    else
        reinterpret_cast<gr_f16 *>(out)[index] = narrowed<gr_f16>(x);
}

// How results of exact sums are made of them.
struct ExactResults {
    uint64_t out, lost; // addresses: of the results, and of the word of gr_lost_sums_params
    uint32_t to;        // a dtype of real numbers
    bool mean;

    __device__ double rounded(const Expansion &s, int64_t count) const {
        if (s.middle == 0 && s.low == 0 && fabs(s.high) < INFINITY && count > 0) // most sums: without a call
            return rounded(Near{s.high, 0}, count);
        return round_sum(s, count, mean, to == SEGMENT_f64, lost);
    }
    __device__ double rounded(const Near &s, int64_t count) const {
        const bool as_double = to == SEGMENT_f64;
        if (s.low != 0)
            return mean || !as_double ? rounded(Expansion{s.high, s.low, 0}, count) : s.high + s.low;
        if (!mean)
            return s.high; // of 0, the sign counts
        const double quotient = s.high / double(count);
        return as_double || !isfinite(quotient) ? quotient
                                                : to_odd(quotient, fma(-quotient, double(count), s.high));
    }
    template <class Sum> __device__ void put(uint64_t index, const Sum &sum, int64_t count) const {
        store(index, rounded(sum, count));
    }
    __device__ void store(uint64_t index, double x) const {
        if (to == SEGMENT_f64)
            reinterpret_cast<double *>(out)[index] = x;
        else if (to == SEGMENT_f32)
            reinterpret_cast<float *>(out)[index] = narrowed<float>(x);
        else
            store_half(out, index, x, to == SEGMENT_bf16);
    }
    // Returns false if the sum is lost; then nothing is stored.
    __device__ bool put_unless_lost(uint64_t index, const Expansion &sum, int64_t count) const {
        const double x = rounded(sum, count);
        if (x != x && __double2loint(x) == int(lost_payload))
            return false;
        store(index, x);
        return true;
    }
    // Of complex numbers, whose dtype is that of their parts here.
    __device__ void put(uint64_t index, const ComplexParts<Expansion> &sum, int64_t count) const {
        put(2 * index, sum.re, count);
        put(2 * index + 1, sum.im, count);
    }
};

} // namespace gr::segments
