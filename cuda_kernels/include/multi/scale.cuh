// Multiplies all elements of a list of arrays by a factor that follows from their norm, in place. Blocks read
// the norm from memory, so that the host need not wait for it.
#pragma once

#include "multi/segments.cuh"

namespace gr::multi {

// min(max_norm / (norm + eps), 1), NaN if the norm is NaN.
inline __device__ double factor_of(const gr_multi_params &p) {
    const double norm = p.norm_bytes == 8 ? *reinterpret_cast<const double *>(p.out)
                                          : static_cast<double>(*reinterpret_cast<const float *>(p.out));
    const double factor = p.max_norm / (norm + p.eps);
    return factor > 1 ? 1 : factor;
}

// float64 elements are multiplied in float64, others in float32, and rounded once.
template <class In> __device__ In scaled(In x, double factor) {
    if constexpr (sizeof(In) == 8)
        return x * factor;
    else
        return In(static_cast<float>(x) * static_cast<float>(factor));
}

// Multiplies `Loads` vectors of a thread, which are a block's threads apart.
template <unsigned Loads, class In> __device__ void scale_vectors(Vec16<In> *first, double factor) {
    Vec16Elements<In> x[Loads];
#pragma unroll
    for (unsigned k = 0; k < Loads; ++k)
        x[k].chunk = load_vec16(first + k * GR_MULTI_THREADS);
#pragma unroll
    for (unsigned k = 0; k < Loads; ++k) {
#pragma unroll
        for (unsigned e = 0; e < Vec16<In>::length; ++e)
            x[k].element[e] = scaled(x[k].element[e], factor);
        *reinterpret_cast<uint4 *>(first + k * GR_MULTI_THREADS) =
            reinterpret_cast<const uint4 &>(x[k].chunk);
    }
}

template <class In> __device__ void scale_list(const gr_multi_params &p) {
    constexpr unsigned loads = 4;
    constexpr uint64_t each = GR_MULTI_THREADS * loads;
    const double factor = factor_of(p);
    if (factor == 1)
        return;
    each_segment(p, sizeof(In), [&](const Segment &segment) {
        const Aligned<In> part(segment);
        Vec16<In> *vector = part.vector() + threadIdx.x;
        uint64_t at = 0;
#pragma unroll 1
        for (; at + each <= part.vectors; at += each)
            scale_vectors<loads>(vector + at, factor);
#pragma unroll 1
        for (; at + threadIdx.x < part.vectors; at += GR_MULTI_THREADS)
            scale_vectors<1>(vector + at, factor);
        part.each_end([&](uint64_t k) { part.first[k] = scaled(part.first[k], factor); });
    });
}

} // namespace gr::multi
