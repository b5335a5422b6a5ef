// Exponentials, logarithms and maxima in arithmetic that IEEE 754 specifies, so that the simulator returns
// the bits of a GPU.
#pragma once

namespace gr::normalize {

// The exponential of x <= 0, or NaN, to about one unit in the last place. x = k ln 2 + r with |r| <= ln 2 /
// 2; a polynomial gives exp(r). ln 2 has two parts, of which the products with k are exact enough (Cody and
// Waite).
inline __device__ float exp_of(float x) {
    x = x < -104.0f ? -104.0f : x;                                // rounds to 0; a NaN stays
    const float shifted = __fmaf_rn(x, 1.44269504f, 12582912.0f); // 1.5 * 2^23: the last bits are k
    const float k = shifted - 12582912.0f;
    float r = __fmaf_rn(k, -0.693145752f, x);
    r = __fmaf_rn(k, -1.42860677e-6f, r);
    float y = 1.39510958e-3f;
    y = __fmaf_rn(y, r, 8.36923905e-3f);
    y = __fmaf_rn(y, r, 4.16661985e-2f);
    y = __fmaf_rn(y, r, 1.66665152e-1f);
    y = __fmaf_rn(y, r, 0.5f);
    y = __fmaf_rn(y, r, 1.0f);
    y = __fmaf_rn(y, r, 1.0f);
    // Two factors, as 2^k may be subnormal: only the second product rounds.
    return y * __int_as_float((__float_as_int(shifted) + 127 + 64) << 23) * 5.42101086e-20f;
}
// The exponential of x <= 0, or NaN, with a relative error of at most 2^-17, for results of 16 bits. Results
// below 2^-125 are 0. exp(x) = 2^(k + f), |f| <= 1/2; the polynomial of 2^f is exact for f = 0.
inline __device__ float exp_of_16_bits(float x) {
    const float shifted = __fmaf_rn(x, 1.44269504f, 12582912.0f + 127.0f); // the last bits are k + 127
    const float f = __fmaf_rn(x, 1.44269504f, (12582912.0f + 127.0f) - shifted);
    float y = 9.582807e-3f;
    y = __fmaf_rn(y, f, 5.5906426e-2f);
    y = __fmaf_rn(y, f, 2.4024099e-1f);
    y = __fmaf_rn(y, f, 6.931242e-1f);
    y = __fmaf_rn(y, f, 1.0f);
    y = y * __int_as_float(__float_as_int(shifted) << 23);
    return x < -86.6f ? 0.0f : y; // a NaN stays
}
// The same for float64, by the series of the exponential.
inline __device__ double exp_of(double x) {
    x = x < -746.0 ? -746.0 : x;
    const double shifted = __fma_rn(x, 1.4426950408889634, 6755399441055744.0); // 1.5 * 2^52
    const double k = shifted - 6755399441055744.0;
    double r = __fma_rn(k, -0.6931471803691238, x);
    r = __fma_rn(k, -1.9082149292705877e-10, r);
    double y = 1.6059043836821613e-10; // 1 / 13!
    y = __fma_rn(y, r, 2.08767569878681e-9);
    y = __fma_rn(y, r, 2.505210838544172e-8);
    y = __fma_rn(y, r, 2.755731922398589e-7);
    y = __fma_rn(y, r, 2.7557319223985893e-6);
    y = __fma_rn(y, r, 2.48015873015873e-5);
    y = __fma_rn(y, r, 1.984126984126984e-4);
    y = __fma_rn(y, r, 1.3888888888888889e-3);
    y = __fma_rn(y, r, 8.333333333333333e-3);
    y = __fma_rn(y, r, 4.1666666666666664e-2);
    y = __fma_rn(y, r, 1.6666666666666666e-1);
    y = __fma_rn(y, r, 0.5);
    y = __fma_rn(y, r, 1.0);
    y = __fma_rn(y, r, 1.0);
    return y * __hiloint2double((__double2loint(shifted) + 1023 + 512) << 20, 0) * 7.458340731200207e-155;
}

// The exponential for elements of type In.
template <class In, class Acc> __device__ Acc exp_for(Acc x) {
    if constexpr (sizeof(In) == 2)
        return exp_of_16_bits(x);
    else
        return exp_of(x);
}

// A product added to a sum, rounded once.
inline __device__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
inline __device__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

// The larger number; the other one, if one is NaN.
inline __device__ float max_of(float a, float b) {
    return fmaxf(a, b);
}
inline __device__ double max_of(double a, double b) {
    return fmax(a, b);
}

inline __device__ float log_of(float x) {
    return logf(x);
}
inline __device__ double log_of(double x) {
    return log(x);
}

} // namespace gr::normalize
