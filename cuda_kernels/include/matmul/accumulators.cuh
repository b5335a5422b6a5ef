// In which type elements of any dtype are multiplied and added up: small integers wrap as they do in NumPy,
// halves are added up in float32 and rounded once.
#pragma once

#include "common/complex.cuh"
#include "common/element_types.cuh"
#include "matmul/matmul.cuh"

namespace gr::matmul {

using namespace common;

template <class T> __device__ complex<T> multiply_add(complex<T> a, complex<T> b, complex<T> c) {
    return {multiply_add(a.re, b.re, multiply_add(-a.im, b.im, c.re)),
            multiply_add(a.re, b.im, multiply_add(a.im, b.re, c.im))};
}

inline __device__ bool multiply_add(bool a, bool b, bool c) {
    return (a && b) || c;
}

inline __device__ bool add(bool a, bool b) {
    return a || b;
}

template <class W> inline __device__ W add(W a, W b) {
    return a + b;
}

// Elements T that are added up in W, and rounded or wrapped once.
template <class T, class W> struct Accumulate {
    typedef W type;
    static __device__ W of(T value) {
        return W(value);
    }
    static __device__ T back(W sum) {
        return T(sum);
    }
};

template <class T> struct Accumulator : Accumulate<T, int32_t> {}; // small integers
template <> struct Accumulator<float> : Accumulate<float, float> {};
template <> struct Accumulator<double> : Accumulate<double, double> {};
template <> struct Accumulator<int32_t> : Accumulate<int32_t, int32_t> {};
template <> struct Accumulator<int64_t> : Accumulate<int64_t, int64_t> {};
template <> struct Accumulator<gr_f16> : Accumulate<gr_f16, float> {};
template <> struct Accumulator<gr_bf16> : Accumulate<gr_bf16, float> {};

template <> struct Accumulator<gr_bool> {
    typedef bool type;
    static __device__ bool of(gr_bool value) {
        return value.value != 0;
    }
    static __device__ gr_bool back(bool sum) {
        return {uint8_t(sum)};
    }
};

// Complex elements T of parts R.
template <class T, class R> struct AccumulateComplex {
    typedef complex<R> type;
    static __device__ type of(T value) {
        return {value.re, value.im};
    }
    static __device__ T back(type sum) {
        return {sum.re, sum.im};
    }
};

template <> struct Accumulator<gr_c64> : AccumulateComplex<gr_c64, float> {};
template <> struct Accumulator<gr_c128> : AccumulateComplex<gr_c128, double> {};

} // namespace gr::matmul
