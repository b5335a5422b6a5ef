// Operators on two vectors besides Dot, for general_axis: weighted means, and products with the first vector
// conjugated (vecdot).
#pragma once

#include "reduce/accumulate.cuh"

namespace gr::reduce {

// Everything in double, where products of floats are exact.
template <class T> __device__ double in_double(T x) {
    return double(x);
}
template <class T> __device__ ComplexParts<double> in_double(ComplexParts<T> x) {
    return {double(x.re), double(x.im)};
}

inline __device__ double quotient(double a, double b) {
    return a / b;
}
// Scaled by the larger part of the divisor: R. L. Smith, "Algorithm 116: complex division" (1962).
inline __device__ ComplexParts<double> quotient(ComplexParts<double> a, ComplexParts<double> b) {
    if (fabs(b.re) >= fabs(b.im)) {
        const double ratio = b.im / b.re, by = b.re + b.im * ratio;
        return {(a.re + a.im * ratio) / by, (a.im - a.re * ratio) / by};
    }
    const double ratio = b.re / b.im, by = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / by, (a.im * ratio - a.re) / by};
}

template <class In> struct Average {
    using T = decltype(in_double(widen(In())));
    struct State {
        T sum, weights;
    };
    using Out = In;
    static __device__ State identity() {
        return {Zero<T>::make(), Zero<T>::make()};
    }
    static __device__ State load(In x, In weight) {
        const T by = in_double(widen(weight));
        return {times(in_double(widen(x)), by), by};
    }
    static __device__ State combine(State a, State b) {
        return {plus(a.sum, b.sum), plus(a.weights, b.weights)};
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(quotient(s.sum, s.weights));
    }
};

template <class In> struct VecDot : Dot<In> {
    using State = typename Dot<In>::State;
    static __device__ State load(In x, In y) {
        return Dot<In>::load({x.re, -x.im}, y);
    }
};

} // namespace gr::reduce
