// In which type elements of any dtype are multiplied and added up: small integers wrap as they do in NumPy,
// halves are added up in float32 and rounded once.
#pragma once

#include "common/complex.cuh"
#include "common/element_types.cuh"
#include "matmul/matmul.cuh"

inline __device__ complex<float> multiply_add(complex<float> a, complex<float> b, complex<float> c) {
    return {fmaf(a.re, b.re, fmaf(-a.im, b.im, c.re)), fmaf(a.re, b.im, fmaf(a.im, b.re, c.im))};
}

inline __device__ complex<double> multiply_add(complex<double> a, complex<double> b, complex<double> c) {
    return {fma(a.re, b.re, fma(-a.im, b.im, c.re)), fma(a.re, b.im, fma(a.im, b.re, c.im))};
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

template <class T> struct Same { // types that are added up unchanged
    typedef T type;
    static __device__ T of(T value) {
        return value;
    }
    static __device__ T back(T sum) {
        return sum;
    }
};

template <class T> struct Wide { // small integers
    typedef int32_t type;
    static __device__ int32_t of(T value) {
        return value;
    }
    static __device__ T back(int32_t sum) {
        return T(sum);
    }
};

template <> struct Wide<float> : Same<float> {};
template <> struct Wide<double> : Same<double> {};
template <> struct Wide<int32_t> : Same<int32_t> {};
template <> struct Wide<int64_t> : Same<int64_t> {};

template <> struct Wide<gr_bool> {
    typedef bool type;
    static __device__ bool of(gr_bool value) {
        return value.value != 0;
    }
    static __device__ gr_bool back(bool sum) {
        return {uint8_t(sum)};
    }
};

template <> struct Wide<gr_f16> {
    typedef float type;
    static __device__ float of(gr_f16 value) {
        return __half2float(value);
    }
    static __device__ gr_f16 back(float sum) {
        return __float2half_rn(sum);
    }
};

template <> struct Wide<gr_bf16> {
    typedef float type;
    static __device__ float of(gr_bf16 value) {
        return __bfloat162float(value);
    }
    static __device__ gr_bf16 back(float sum) {
        return __float2bfloat16_rn(sum);
    }
};

template <> struct Wide<gr_c64> {
    typedef complex<float> type;
    static __device__ type of(gr_c64 value) {
        return {value.re, value.im};
    }
    static __device__ gr_c64 back(type sum) {
        return {sum.re, sum.im};
    }
};

template <> struct Wide<gr_c128> {
    typedef complex<double> type;
    static __device__ type of(gr_c128 value) {
        return {value.re, value.im};
    }
    static __device__ gr_c128 back(type sum) {
        return {sum.re, sum.im};
    }
};
