// Products and quotients of weighted group sums and means.
#include <cstdint>

#include "common/entry.cuh"
#include "groups/weights/params.h"

constexpr unsigned threads = GR_WEIGHT_THREADS;

__device__ float fused(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
__device__ double fused(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

// What the rounding of a * b to `product` has lost; -0 if nothing, as it leaves the sign of a sum of zeros. A
// product that is not finite has lost nothing.
template <class T> __device__ T rounding_error(T a, T b, T product) {
    const T error = fused(a, b, -product);
    return product - product == 0 && error != 0 ? error : T(-0.0);
}

// Calls work(i, line, row, column) for each element, the i-th in C order.
template <class Work> __device__ void each_element(const gr_products_params &p, const Work &work) {
    const uint64_t elements = p.lines * p.length * p.inner;
    for (uint64_t i = blockIdx.x * uint64_t(threads) + threadIdx.x; i < elements;
         i += gridDim.x * uint64_t(threads)) {
        uint64_t line = 0, row = i, column = 0;
        if (p.inner > 1) {
            row = i / p.inner;
            column = i - row * p.inner;
        }
        if (p.lines > 1) {
            line = row / p.length;
            row -= line * p.length;
        }
        work(i, line, row, column);
    }
}

template <class T>
__device__ T element_at(uint64_t from, const int64_t (&strides)[3], uint64_t line, uint64_t row,
                        uint64_t column) {
    const int64_t at = int64_t(line) * strides[0] + int64_t(row) * strides[1] + int64_t(column) * strides[2];
    return reinterpret_cast<const T *>(from)[at];
}

template <class T, class To, bool HasErrors> __device__ void products(const gr_products_params &p) {
    each_element(p, [&](uint64_t i, uint64_t line, uint64_t row, uint64_t column) {
        const T weight = element_at<T>(p.weights, p.weight_strides, line, row, column);
        const T x = p.in != 0 ? element_at<T>(p.in, p.in_strides, line, row, column) : T(1);
        To *const out = reinterpret_cast<To *>(p.out);
        const To product = To(x) * To(weight);
        if (HasErrors) {
            const uint64_t at = i + (line * p.length + row) * p.inner; // a row of errors follows each row
            out[at] = product;
            out[at + p.inner] = rounding_error(To(x), To(weight), product);
        } else {
            out[i] = product;
        }
    });
}

template <class To> __device__ void quotients(const gr_quotients_params &p) {
    for (uint64_t i = blockIdx.x * uint64_t(threads) + threadIdx.x; i < p.count;
         i += gridDim.x * uint64_t(threads))
        reinterpret_cast<To *>(p.out)[i] = To(reinterpret_cast<const double *>(p.dividends)[i] /
                                              reinterpret_cast<const double *>(p.divisors)[i]);
}

GR_ENTRY((threads), group_products_f32, gr_products_params, products<float, float, true>)
GR_ENTRY((threads), group_products_f64, gr_products_params, products<double, double, true>)
GR_ENTRY((threads), group_products_wide, gr_products_params, products<float, double, false>)
GR_ENTRY((threads), group_quotients_f32, gr_quotients_params, quotients<float>)
GR_ENTRY((threads), group_quotients_f64, gr_quotients_params, quotients<double>)
