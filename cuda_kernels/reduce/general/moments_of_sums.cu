// Mean, variance, skewness and kurtosis from sums of powers, so that results on a device need no host: with
// the operations of csrc/python/moments.c in their order, each rounded, so that both give the same bits.
#include "common/entry.cuh"
#include "reduce/moments/params.h"
#include "reduce/ops/moments.cuh"

using namespace gr::reduce;

// A number whose operations are not contracted to fused ones.
struct Rounded {
    double x;
    __device__ Rounded(double value) : x(value) {
    }
};
__device__ Rounded operator+(Rounded a, Rounded b) {
    return __dadd_rn(a.x, b.x);
}
__device__ Rounded operator-(Rounded a, Rounded b) {
    return __dsub_rn(a.x, b.x);
}
__device__ Rounded operator*(Rounded a, Rounded b) {
    return __dmul_rn(a.x, b.x);
}
__device__ Rounded operator/(Rounded a, Rounded b) {
    return __ddiv_rn(a.x, b.x);
}
__device__ Rounded root(Rounded a) {
    return __dsqrt_rn(a.x);
}

__device__ void write(const gr_moments_params &p, unsigned k, uint64_t i, Rounded value) {
    const uint64_t array = p.out + p.pitch * k;
    if (p.flags & GR_MOMENTS_OF_DOUBLE)
        reinterpret_cast<double *>(array)[i] = value.x;
    else
        reinterpret_cast<float *>(array)[i] = float(value.x);
}

extern "C" __global__ void __launch_bounds__(GR_MOMENTS_THREADS) moments_of_sums(const gr_moments_params p) {
    const double none = __longlong_as_double(0x7ff8000000000000);
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < p.results; i += step) {
        const PowerSums s = reinterpret_cast<const PowerSums *>(p.sums)[i];
        const bool left_out = __double_as_longlong(s.count) < 0;
        const Rounded n = fabs(s.count), nan = left_out && !(p.flags & GR_MOMENTS_OMIT_NAN) ? none : 0.0;
        const Rounded first = s.first, ahead = -(first / n).x, mean = Rounded(s.shift) + first / n;
        reinterpret_cast<long long *>(p.out)[i] = static_cast<long long>(n.x);
        write(p, 1, i, mean + nan);
        if (p.order < 2)
            continue;
        const Rounded moved = Rounded(s.second) + ahead * (Rounded(2.0) * first + n * ahead);
        const Rounded second = moved.x < 0 ? Rounded(0.0) : moved, less = n - p.ddof;
        write(p, 2, i, second / (less.x > 0 ? less : Rounded(0.0)) + nan);
        if (p.order < 3)
            continue;
        const Rounded tiny = Rounded(1e-15) * mean,
                      constant = (second / n).x <= (tiny * tiny).x ? Rounded(none) : nan;
        const Rounded third =
            Rounded(s.third) + ahead * (Rounded(3.0) * s.second + ahead * (Rounded(3.0) * first + n * ahead));
        Rounded skewness = third * root(n) / (second * root(second));
        const bool corrected = !(p.flags & GR_MOMENTS_BIAS);
        if (corrected && n.x > 2)
            skewness = skewness * (root(n * (n - 1.0)) / (n - 2.0));
        write(p, 3, i, skewness + constant);
        if (p.order < 4)
            continue;
        const Rounded fourth =
            Rounded(s.fourth) +
            ahead * (Rounded(4.0) * s.third +
                     ahead * (Rounded(6.0) * s.second + ahead * (Rounded(4.0) * first + n * ahead)));
        Rounded kurtosis = n * fourth / (second * second);
        if (corrected && n.x > 3)
            kurtosis = ((n * n - 1.0) * kurtosis - Rounded(3.0) * ((n - 1.0) * (n - 1.0))) /
                           ((n - 2.0) * (n - 3.0)) +
                       3.0;
        write(p, 4, i, kurtosis - (p.flags & GR_MOMENTS_FISHER ? 3.0 : 0.0) + constant);
    }
}
