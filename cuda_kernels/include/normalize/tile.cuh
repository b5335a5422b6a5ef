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

// Elements of a row or of a vector of weights, from an address on.
template <class In> struct Line {
    In *first;
    int64_t stride; // in elements

    // Whether vectors of 16 bytes can be read.
    __device__ bool is_aligned() const {
        return stride == 1 && reinterpret_cast<uint64_t>(first) % 16 == 0;
    }
    __device__ Line from(uint64_t index) const {
        return {first + int64_t(index) * stride, stride};
    }
};

template <class In, unsigned VECTORS> struct Tile {
    using Acc = typename AccumulateIn<In>::type;
    static constexpr unsigned LENGTH = 16 / sizeof(In), COUNT = VECTORS * LENGTH;

    static __device__ unsigned index(unsigned i) {
        return (i / LENGTH * blockDim.x + threadIdx.x) * LENGTH + i % LENGTH;
    }
    // The same as index(v * LENGTH), which the compiler computes anew: offsets and predicates of single
    // elements that it kept from a load until a store would take all registers.
    static __device__ unsigned fresh_index(unsigned v) {
        unsigned thread = threadIdx.x;
        asm volatile("" : "+r"(thread));
        return (v * blockDim.x + thread) * LENGTH;
    }
    static __device__ unsigned size() {
        return VECTORS * LENGTH * blockDim.x;
    }

    // Loads N vectors of each thread, of the first `count` elements of a line; others are `fill`. `aligned`:
    // the line is, and `count` is a multiple of LENGTH. One branch for all vectors keeps their loads in
    // flight together.
    template <unsigned N>
    static __device__ void load(Vec16<In> (&raw)[N], unsigned from_vector, Line<In> line, unsigned count,
                                bool aligned, In fill) {
        if (aligned) {
#pragma unroll
            for (unsigned v = 0; v < N; ++v) {
                const unsigned at = index((from_vector + v) * LENGTH);
                raw[v] = broadcast_vec16(fill);
                if (at < count)
                    raw[v] = *reinterpret_cast<const Vec16<In> *>(line.first + at);
            }
            return;
        }
#pragma unroll
        for (unsigned v = 0; v < N; ++v) {
            const unsigned at = fresh_index(from_vector + v);
            const Line<In> from = line.from(at);
            Vec16Elements<In> all;
#pragma unroll
            for (unsigned e = 0; e < LENGTH; ++e) {
                all.element[e] = fill;
                if (at + e < count)
                    all.element[e] = from.first[int64_t(e) * line.stride];
            }
            raw[v] = all.chunk;
        }
    }

    template <unsigned N>
    static __device__ void store(const Vec16<In> (&raw)[N], unsigned from_vector, Line<In> line,
                                 unsigned count, bool aligned) {
        if (aligned) {
#pragma unroll
            for (unsigned v = 0; v < N; ++v) {
                const unsigned at = index((from_vector + v) * LENGTH);
                if (at < count)
                    *reinterpret_cast<Vec16<In> *>(line.first + at) = raw[v];
            }
            return;
        }
#pragma unroll
        for (unsigned v = 0; v < N; ++v) {
            const unsigned at = fresh_index(from_vector + v);
            const Line<In> to = line.from(at);
#pragma unroll
            for (unsigned e = 0; e < LENGTH; ++e)
                if (at + e < count)
                    to.first[int64_t(e) * line.stride] = raw[v].at(e);
        }
    }

    static __device__ Acc element(const Vec16<In> *raw, unsigned i) {
        return to_acc(raw[i / LENGTH].at(i % LENGTH));
    }
    static __device__ Vec16<In> pack(const Acc *x) {
        Vec16Elements<In> all;
#pragma unroll
        for (unsigned e = 0; e < LENGTH; ++e)
            all.element[e] = from_acc<In>(x[e]);
        return all.chunk;
    }
};

} // namespace gr::normalize
