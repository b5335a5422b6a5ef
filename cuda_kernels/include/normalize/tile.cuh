// A tile of a row in registers: `VECTORS` times 16 bytes of each thread. Element e of vector v of thread t
// has the index (v * threads + t) * LENGTH + e, wherever the row begins, so that addresses do not change the
// order of a sum.
#pragma once

#include <cstdint>

#include "common/element_types.cuh"
#include "common/vec16.cuh"
#include "normalize/params.h"

namespace gr::normalize {

using namespace gr::common;

template <class In> struct AccumulateIn { using type = float; };
template <> struct AccumulateIn<double> { using type = double; };

inline __device__ float to_acc(float x) {
    return x;
}
inline __device__ double to_acc(double x) {
    return x;
}
inline __device__ float to_acc(gr_f16 x) {
    return __half2float(x);
}
inline __device__ float to_acc(gr_bf16 x) {
    return __bfloat162float(x);
}
template <class In, class Acc> __device__ In from_acc(Acc x) {
    return x;
}
template <> inline __device__ gr_f16 from_acc(float x) {
    return __float2half_rn(x);
}
template <> inline __device__ gr_bf16 from_acc(float x) {
    return __float2bfloat16_rn(x);
}

// Elements of a row or of a vector of weights, from an address on; 0: none.
struct Line {
    uint64_t address;
    int64_t stride; // in elements

    template <class In> __device__ bool is_aligned() const {
        return stride == 1 && address % 16 == 0;
    }
};

template <class In, unsigned VECTORS> struct Tile {
    using Acc = typename AccumulateIn<In>::type;
    static constexpr unsigned LENGTH = 16 / sizeof(In), COUNT = VECTORS * LENGTH;

    static __device__ unsigned index(unsigned i) {
        return (i / LENGTH * blockDim.x + threadIdx.x) * LENGTH + i % LENGTH;
    }
    static __device__ unsigned size() {
        return VECTORS * LENGTH * blockDim.x;
    }

    // Loads the elements from `first` on, of which `count` are in the row; others are `fill`.
    static __device__ void load(Acc (&x)[COUNT], Line line, uint64_t first, unsigned count, Acc fill) {
        const In *from = reinterpret_cast<const In *>(line.address) + int64_t(first) * line.stride;
        const bool aligned = Line{uint64_t(from), line.stride}.template is_aligned<In>();
        Vec16<In> raw[VECTORS];
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            const unsigned at = index(v * LENGTH);
            if (aligned && at + LENGTH <= count) {
                raw[v] = *reinterpret_cast<const Vec16<In> *>(from + at);
            } else {
                Vec16Elements<In> all;
#pragma unroll
                for (unsigned e = 0; e < LENGTH; ++e)
                    all.element[e] =
                        at + e < count ? from[int64_t(at + e) * line.stride] : from_acc<In>(fill);
                raw[v] = all.chunk;
            }
        }
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            x[i] = to_acc(raw[i / LENGTH].at(i % LENGTH));
    }

    // Stores results to the elements from `first` on.
    static __device__ void store(const Acc (&x)[COUNT], Line line, uint64_t first, unsigned count) {
        In *to = reinterpret_cast<In *>(line.address) + int64_t(first) * line.stride;
        const bool aligned = Line{uint64_t(to), line.stride}.template is_aligned<In>();
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            const unsigned at = index(v * LENGTH);
            Vec16Elements<In> all;
#pragma unroll
            for (unsigned e = 0; e < LENGTH; ++e)
                all.element[e] = from_acc<In>(x[v * LENGTH + e]);
            if (aligned && at + LENGTH <= count) {
                *reinterpret_cast<Vec16<In> *>(to + at) = all.chunk;
            } else {
#pragma unroll
                for (unsigned e = 0; e < LENGTH; ++e)
                    if (at + e < count)
                        to[int64_t(at + e) * line.stride] = all.element[e];
            }
        }
    }
};

} // namespace gr::normalize
