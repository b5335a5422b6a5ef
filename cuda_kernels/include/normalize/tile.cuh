// A tile of a row in registers: `VECTORS` times 16 bytes of each thread. Element e of vector v of thread t
// has the index (v * threads + t) * LENGTH + e, wherever the row begins, so that addresses do not change the
// order of a sum.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/element_types.cuh"
#include "common/vec16.cuh"
#include "normalize/params.h"

namespace gr::normalize {

using namespace gr::common;

template <class In> struct AccumulateIn { using type = float; };
template <> struct AccumulateIn<double> { using type = double; };
template <class In> using AccumulatorOf = typename AccumulateIn<In>::type;

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
// Two elements as a word, rounded to nearest even. One instruction does it from compute capability 8.0 on.
// The kernels for all devices have it as a comment, which is an instruction from 9.0 on: see common/pdl.cuh.
#if __CUDA_ARCH__ >= 900
#define GR_CONVERT_TWO(instruction) instruction " %0, %1, %2;"
#else
#define GR_CONVERT_TWO(instruction) "mov.b32 %0, %3;\n\t// " instruction " %0, %1, %2;"
#endif

// The upper 16 bits are x as bfloat16. Arithmetic returns one NaN, which as an integer is larger than
// infinity.
inline __device__ uint32_t round_to_bf16(float x) {
    const uint32_t bits = min(__float_as_int(x), 0x7fff0000);
    return bits + 0x7fff + ((bits & 0x10000) >> 16);
}
template <class In> __device__ uint32_t pack_two(float low, float high) {
    uint32_t both;
    if constexpr (std::is_same<In, gr_bf16>::value) {
        const uint32_t rounded = __byte_perm(round_to_bf16(low), round_to_bf16(high), 0x7632);
        asm(GR_CONVERT_TWO("cvt.rn.bf16x2.f32") : "=r"(both) : "f"(high), "f"(low), "r"(rounded));
    } else {
        const __half2 pair = __floats2half2_rn(low, high);
        const uint32_t rounded = *reinterpret_cast<const uint32_t *>(&pair);
        asm(GR_CONVERT_TWO("cvt.rn.f16x2.f32") : "=r"(both) : "f"(high), "f"(low), "r"(rounded));
    }
    return both;
}

// Stores 16 bytes that no other kernel is expected to read soon (st.global.cs: evict first).
template <class In> __device__ void store_vec16(Vec16<In> *to, const Vec16<In> &x) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.words[0]), "r"(x.words[1]),
                 "r"(x.words[2]), "r"(x.words[3])
                 : "memory");
}

// Elements of a row or of a vector of weights, from an address on.
template <class In> struct Line {
    In *first;
    int64_t stride; // in elements

    __device__ Line from(uint64_t index) const {
        return {first + int64_t(index) * stride, stride};
    }
};

template <class In, unsigned VECTORS> struct Tile {
    using Acc = AccumulatorOf<In>;
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
                    store_vec16(reinterpret_cast<Vec16<In> *>(line.first + at), raw[v]);
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
        if constexpr (std::is_same<In, gr_bf16>::value) {
            const uint32_t word = raw[i / LENGTH].word(i % LENGTH / 2);
            return __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000);
        }
        return to_acc(raw[i / LENGTH].at(i % LENGTH));
    }
    static __device__ Vec16<In> pack(const Acc *x) {
        if constexpr (sizeof(In) == 2) {
            Vec16<In> chunk;
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                chunk.set_word(i, pack_two<In>(x[2 * i], x[2 * i + 1]));
            return chunk;
        } else {
            Vec16Elements<In> all;
#pragma unroll
            for (unsigned e = 0; e < LENGTH; ++e)
                all.element[e] = x[e];
            return all.chunk;
        }
    }
};

} // namespace gr::normalize
