// The logarithm of a sum of exponentials, in one pass. A State has the largest element, and the sum of the
// exponentials of the other elements minus the largest. The 1 of the largest element itself is left out, so
// that results near it keep the contribution of the others. All arguments of exponentials are at most 0, so a
// polynomial without special cases is enough.
#pragma once

#include "reduce/accumulate.cuh"

namespace gr::reduce {

// The type that exponentials are computed in.
template <class In> struct ExpValue { using type = float; };
template <> struct ExpValue<double> { using type = double; };
// A complex number of two of them.
template <class T> struct ComplexOf { using type = gr_c64; };
template <> struct ComplexOf<double> { using type = gr_c128; };

// e^x of |x| <= ln(2) / 2: the Taylor series to the type's precision, the last coefficient first.
inline __device__ float exp_series(float x) {
    float sum = 1.0f / 5040;
    sum = __fmaf_rn(sum, x, 1.0f / 720);
    sum = __fmaf_rn(sum, x, 1.0f / 120);
    sum = __fmaf_rn(sum, x, 1.0f / 24);
    sum = __fmaf_rn(sum, x, 1.0f / 6);
    sum = __fmaf_rn(sum, x, 0.5f);
    sum = __fmaf_rn(sum, x, 1.0f);
    return __fmaf_rn(sum, x, 1.0f);
}
inline __device__ double exp_series(double x) {
    double sum = 1.0 / 6227020800;
    sum = __fma_rn(sum, x, 1.0 / 479001600);
    sum = __fma_rn(sum, x, 1.0 / 39916800);
    sum = __fma_rn(sum, x, 1.0 / 3628800);
    sum = __fma_rn(sum, x, 1.0 / 362880);
    sum = __fma_rn(sum, x, 1.0 / 40320);
    sum = __fma_rn(sum, x, 1.0 / 5040);
    sum = __fma_rn(sum, x, 1.0 / 720);
    sum = __fma_rn(sum, x, 1.0 / 120);
    sum = __fma_rn(sum, x, 1.0 / 24);
    sum = __fma_rn(sum, x, 1.0 / 6);
    sum = __fma_rn(sum, x, 0.5);
    sum = __fma_rn(sum, x, 1.0);
    return __fma_rn(sum, x, 1.0);
}

// e^x of x <= 0, as 2^k times that series; what is below 1e-37, or 1e-303, comes out as 0, as do -infinity
// and a NaN. Adding the constant rounds to a whole number, which lies in the lowest bits then.
inline __device__ float exp_of(float x) {
    const float round = 12582912.0f, shifted = __fmaf_rn(x, 1.44269504f, round), k = shifted - round;
    const float rest = __fmaf_rn(k, 2.12194440e-4f, __fmaf_rn(k, -0.693359375f, x));
    const int bits = __float_as_int(exp_series(rest)) + (__float_as_int(shifted) << 23);
    return x > -86.0f ? __int_as_float(bits) : 0.0f;
}
inline __device__ double exp_of(double x) {
    const double round = 6755399441055744.0, shifted = __fma_rn(x, 1.4426950408889634, round),
                 k = shifted - round;
    const double rest = __fma_rn(k, -1.9082149292705877e-10, __fma_rn(k, -0.6931471803691238, x));
    const double series = exp_series(rest);
    const int high = __double2hiint(series) + (__double2loint(shifted) << 20);
    return x > -700.0 ? __hiloint2double(high, __double2loint(series)) : 0.0;
}

// `others`: -1 of no elements at all.
template <class T> struct ExpSum {
    T most;
    double others;
};

template <class In> struct LogSumExp {
    using T = typename ExpValue<In>::type;
    using State = ExpSum<T>;
    using Out = In;
    static __device__ State identity() {
        return {T(-INFINITY), -1};
    }
    static __device__ State load(In x, uint64_t) {
        return {T(widen(x)), 0};
    }
    // A NaN is the largest of all.
    static __device__ State combine(State a, State b) {
        const bool second = wins<true>(b.most, a.most);
        const State more = second ? b : a, less = second ? a : b;
        return {more.most, more.others + (less.others + 1) * double(exp_of(less.most - more.most))};
    }
    static __device__ __noinline__ double logarithm(State s) {
        return double(s.most) + log1p(s.others);
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(T(logarithm(s)));
    }
    // The denominator of a softmax: the largest element, and the sum of all exponentials less it, as one
    // complex number. Where the largest is infinite, the sum is NaN.
    using Denominator = typename ComplexOf<T>::type;
    static __device__ Denominator denominator(State s) {
        return {s.most, isinf(s.most) || is_nan(s.most) ? T(NAN) : T(s.others + 1)};
    }
};

// Each turn makes a State about its own largest element.
template <class In> struct VectorAccumulator<LogSumExp<In>, In> : StateAccumulator<LogSumExp<In>> {
    using F = LogSumExp<In>;
    using State = typename F::State;
    using T = typename F::T;
    template <unsigned N> static __device__ State of(const Vec16<In> *x) {
        constexpr unsigned length = Vec16<In>::length;
        T most = T(widen(x[0].at(0)));
#pragma unroll
        for (unsigned i = 1; i < N * length; ++i) {
            const T value = T(widen(element_of(x, i)));
            most = wins<true>(value, most) ? value : most;
        }
        uint32_t equals = 0;
        const T rest = tree_sum<N * length>([&](unsigned i) {
            const T value = T(widen(element_of(x, i)));
            const bool equal = value == most;
            equals += equal;
            return equal ? T(0) : exp_of(value - most);
        });
        return {most, (double(equals) - 1) + double(rest)};
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = F::combine(acc, of<N>(x));
    }
};

} // namespace gr::reduce
