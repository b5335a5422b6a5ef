// Exponentials and logarithms in arithmetic that IEEE 754 specifies, so that the simulator returns the bits
// of a GPU.
#pragma once

namespace gr::normalize {

// The exponential of x <= 0, or NaN, to about one unit in the last place. x = k ln 2 + r with |r| <= ln 2 /
// 2; a polynomial gives exp(r). ln 2 has two parts, of which the products with k are exact enough (Cody and
// Waite).
inline __device__ float exp_of(float x) {
    x = x < -104.0f ? -104.0f : x; // rounds to 0; a NaN stays
    const float k = rintf(x * 1.44269504f);
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
    return y * __int_as_float((int(k) + 127 + 64) << 23) * 5.42101086e-20f;
}
inline __device__ double exp_of(double x) {
    return exp(x);
}

inline __device__ float log_of(float x) {
    return logf(x);
}
inline __device__ double log_of(double x) {
    return log(x);
}

} // namespace gr::normalize
