// Variances of complex numbers: of the squares of distances. See variance.cuh.
#pragma once

#include "reduce/ops/variance_sums.cuh"

namespace gr::reduce {

inline __device__ bool is_negative(double x) {
    return __double_as_longlong(x) < 0;
}
inline __device__ double with_sign(double magnitude, bool negative) {
    return __longlong_as_double(__double_as_longlong(magnitude) | (negative ? int64_t(1) << 63 : 0));
}
// The count of two, and of one element more.
inline __device__ double count_of(double a, double b) {
    return with_sign(fabs(a) + fabs(b), is_negative(a) || is_negative(b));
}
inline __device__ double count_one(double count, bool is_nan) {
    return is_nan ? with_sign(count, true) : with_sign(fabs(count) + 1, is_negative(count));
}

struct ShiftedPairs {
    double count; // negative where there was a NaN
    ComplexParts<double> shift, sum;
    double squares; // negative where they are shrunk
};

inline __device__ ShiftedPairs shrunk(const ShiftedPairs &s) {
    const double factor = is_negative(s.squares) ? 1.0 : GR_VAR_SHRINK;
    return {s.count,
            {s.shift.re * factor, s.shift.im * factor},
            {s.sum.re * factor, s.sum.im * factor},
            s.squares * factor * factor};
}

inline __device__ bool is_finite(ComplexParts<double> x) {
    return isfinite(x.re) && isfinite(x.im);
}
// Sums about a point that is so far before the present one.
inline __device__ ComplexParts<double> moved(ComplexParts<double> sum, double count,
                                             ComplexParts<double> apart) {
    return {fma(count, apart.re, sum.re), fma(count, apart.im, sum.im)};
}
inline __device__ double product(ComplexParts<double> a, ComplexParts<double> b) {
    return fma(a.re, b.re, a.im * b.im);
}

template <class In> struct VarOfComplex {
    using State = ShiftedPairs;
    using Out = RealOut<In>;
    static __device__ State identity() {
        return {0, {0, 0}, {0, 0}, 0};
    }
    static __device__ State load(In x, uint64_t) {
        return append(identity(), x, 0);
    }
    // The squares of results without `_plain` are negative where they are shrunk.
    static __device__ State append_plain(const State &s, ComplexParts<double> value) {
        const bool is_nan = value.re != value.re || value.im != value.im;
        const double re = is_nan ? 0.0 : value.re - s.shift.re, im = is_nan ? 0.0 : value.im - s.shift.im;
        return {count_one(s.count, is_nan),
                s.shift,
                {s.sum.re + re, s.sum.im + im},
                fma(re, re, fma(im, im, fabs(s.squares)))};
    }
    static __device__ void set_shift(State &s, ComplexParts<double> next) {
        const double count = fabs(s.count);
        if (count == 0) {
            s.shift = is_finite(next) ? next : ComplexParts<double>{0, 0};
        } else if (product(s.sum, s.sum) > 0.25 * count * fabs(s.squares)) {
            const ComplexParts<double> mean = {s.shift.re + s.sum.re / count, s.shift.im + s.sum.im / count};
            const ComplexParts<double> apart = {s.shift.re - mean.re, s.shift.im - mean.im};
            const ComplexParts<double> sum = moved(s.sum, count, apart);
            const double squares = fabs(s.squares) + product(apart, plus(s.sum, sum));
            s = {s.count, mean, sum, with_sign(fabs(squares), is_negative(s.squares))};
        }
    }
    static __device__ State append(State s, In x, uint64_t) {
        const ComplexParts<double> value = {x.re, x.im};
        if (__double2hiint(s.count) << 12 == 0) // 0, or a power of two
            set_shift(s, value);
        const State next = append_plain(s, value);
        if constexpr (can_overflow<In>) {
            if (is_negative(s.squares) || !is_medium(next.squares)) {
                State smaller = append_plain(shrunk(s), {value.re * GR_VAR_SHRINK, value.im * GR_VAR_SHRINK});
                smaller.squares = with_sign(smaller.squares, true);
                return smaller;
            }
        }
        return next;
    }
    // See reduce/general/masked_pieces.cuh: about the mean of the elements that are taken.
    static constexpr bool has_of_some = true;
    template <unsigned N> static __device__ bool of_some(State &s, const In (&x)[N], const bool (&taken)[N]) {
        using Value = Wide<In>;
        const auto is_nan = [&](unsigned k) { return x[k].re != x[k].re || x[k].im != x[k].im; };
        bool has_nan = false;
        unsigned count = 0;
        Value total = {0, 0}, sum = {0, 0};
        decltype(total.re) squares = 0;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const bool counts = taken[k] & !is_nan(k);
            has_nan |= taken[k] & is_nan(k);
            count += counts;
            total = {total.re + (counts ? x[k].re : 0), total.im + (counts ? x[k].im : 0)};
        }
        const auto part = decltype(squares)(1) / (count > 0 ? count : 1);
        const Value shift = {total.re * part, total.im * part};
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const bool counts = taken[k] & !is_nan(k);
            const Value apart = {counts ? x[k].re - shift.re : 0, counts ? x[k].im - shift.im : 0};
            sum = {sum.re + apart.re, sum.im + apart.im};
            squares = fma(apart.re, apart.re, fma(apart.im, apart.im, squares));
        }
        s = {with_sign(count, has_nan), {shift.re, shift.im}, {sum.re, sum.im}, squares};
        return can_overflow<In> ? is_medium(squares) : isfinite(squares);
    }
    static __device__ State combine_plain(const State &a, const State &b) {
        const double in_a = fabs(a.count), in_b = fabs(b.count);
        const ComplexParts<double> apart = {b.shift.re - a.shift.re, b.shift.im - a.shift.im};
        const ComplexParts<double> back = {-apart.re, -apart.im};
        const ComplexParts<double> from_a = moved(b.sum, in_b, apart), from_b = moved(a.sum, in_a, back);
        const ComplexParts<double> sum_a = plus(a.sum, from_a), sum_b = plus(b.sum, from_b);
        const bool nearer = product(sum_b, sum_b) < product(sum_a, sum_a);
        const double more = nearer ? product(back, plus(a.sum, from_b)) : product(apart, plus(b.sum, from_a));
        return {count_of(a.count, b.count), nearer ? b.shift : a.shift, nearer ? sum_b : sum_a,
                fabs((fabs(a.squares) + fabs(b.squares)) + more)};
    }
    static __device__ State combine(State a, State b) {
        State both = combine_plain(a, b);
        if constexpr (can_overflow<In>) {
            if (is_negative(a.squares) || is_negative(b.squares) || !is_medium(both.squares)) {
                both = combine_plain(shrunk(a), shrunk(b));
                both.squares = with_sign(both.squares, true);
            }
        }
        return both;
    }
    static __device__ Out finish(State s, uint64_t ddof, uint32_t flags) {
        const double count = fabs(s.count);
        const double squares =
            fabs(s.squares) - (s.sum.re * (s.sum.re / count) + s.sum.im * (s.sum.im / count));
        return variance<Out>(squares < 0 ? 0.0 : squares, count, is_negative(s.count), ddof, flags,
                             can_overflow<In> && is_negative(s.squares));
    }
};

template <class In> struct VectorVarOfComplex : StateAccumulator<VarOfComplex<In>> {
    using F = VarOfComplex<In>;
    using State = ShiftedPairs;
    template <unsigned N> static __device__ State of(const Vec16<In> *x) {
        using Value = Wide<In>;
        constexpr unsigned length = Vec16<In>::length, count = N * length;
        Value first = tree_sum<N>([&](unsigned k) { return widen(x[k].at(0)); });
        first = {first.re / N, first.im / N};
        Value apart[count];
#pragma unroll
        for (unsigned i = 0; i < count; ++i) {
            const Value value = widen(element_of(x, i));
            apart[i] = {value.re - first.re, value.im - first.im};
        }
        const Value sum = tree_sum<count>([&](unsigned i) { return apart[i]; });
        const auto squares = tree_sum<count>(
            [&](unsigned i) { return fma(apart[i].re, apart[i].re, apart[i].im * apart[i].im); });
        State turn = {count, {first.re, first.im}, {sum.re, sum.im}, squares};
        if (!(can_overflow<In> ? is_medium(squares) : isfinite(squares))) {
            turn = F::identity();
#pragma unroll
            for (unsigned i = 0; i < count; ++i)
                turn = F::append(turn, element_of(x, i), 0);
        }
        return turn;
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = F::combine(acc, of<N>(x));
    }
};

} // namespace gr::reduce
