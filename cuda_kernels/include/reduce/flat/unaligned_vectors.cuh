// Vectors of 16 bytes that begin at any element of 2, 4 or 8 bytes. They are loaded in aligned parts of 4, 8
// or 16 bytes. If elements of 2 bytes begin in the second half of a word, funnel shifts move them.
#pragma once

#include "common/vec16.cuh"

namespace gr::reduce {

using namespace common;

// Loads of parts from global memory. L1 keeps a line until its last part is loaded. Without a place in L1 a
// sum of 64 MiB of float32 takes 27.2 us on an H200 instead of 17.9.
struct FromGlobal {
    static __device__ uint32_t half(const unsigned char *from) {
        uint16_t x;
        asm volatile("ld.global.L1::evict_first.u16 %0, [%1];" : "=h"(x) : "l"(from));
        return x;
    }
    static __device__ uint32_t word(const unsigned char *from) {
        uint32_t x;
        asm volatile("ld.global.L1::evict_first.u32 %0, [%1];" : "=r"(x) : "l"(from));
        return x;
    }
    static __device__ uint2 two_words(const unsigned char *from) {
        uint2 x;
        asm volatile("ld.global.L1::evict_first.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from));
        return x;
    }
    template <class In> static __device__ Vec16<In> vector(const unsigned char *from) {
        Vec16<In> x;
        asm volatile("ld.global.L1::evict_first.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3])
                     : "l"(from));
        return x;
    }
};

// Loads of parts from shared memory.
struct FromShared {
    static __device__ uint32_t half(const unsigned char *from) {
        return *reinterpret_cast<const uint16_t *>(from);
    }
    static __device__ uint32_t word(const unsigned char *from) {
        return *reinterpret_cast<const uint32_t *>(from);
    }
    static __device__ uint2 two_words(const unsigned char *from) {
        return *reinterpret_cast<const uint2 *>(from);
    }
    template <class In> static __device__ Vec16<In> vector(const unsigned char *from) {
        return *reinterpret_cast<const Vec16<In> *>(from);
    }
};

// N vectors, whose addresses are `skew` modulo 16.
template <class From, unsigned N, class In> struct UnalignedVectors {
    static constexpr bool halves = sizeof(In) < 4;
    Vec16<In> (&x)[N];
    const unsigned skew;
    uint32_t last[halves ? N : 1]; // the last half of a vector, behind its last whole word

    __device__ UnalignedVectors(Vec16<In> (&to)[N], unsigned skew) : x(to), skew(skew) {
    }
    // Loads the vectors at address(k). The word before an odd half may begin before the array.
    template <class Address> __device__ void load(const Address &address) {
        const unsigned odd = halves ? skew % 4 : 0; // bytes from the first word to the first element
        const auto word = [&](unsigned k, unsigned i) {
            x[k].set_word(i, From::word(address(k) - odd + 4 * i));
        };
        const auto two_words = [&](unsigned k, unsigned i) {
            const uint2 words = From::two_words(address(k) - odd + 4 * i);
            x[k].set_word(i, words.x);
            x[k].set_word(i + 1, words.y);
        };
        if (sizeof(In) < 8 && skew % 8 >= 4) {
#pragma unroll
            for (unsigned k = 0; k < N; ++k) {
                word(k, 0);
                two_words(k, 1);
                word(k, 3);
            }
        } else if (skew >= 8) {
#pragma unroll
            for (unsigned k = 0; k < N; ++k) {
                two_words(k, 0);
                two_words(k, 2);
            }
        } else {
#pragma unroll
            for (unsigned k = 0; k < N; ++k)
                x[k] = From::template vector<In>(address(k) - odd);
        }
        if constexpr (halves)
            if (odd > 0)
#pragma unroll
                for (unsigned k = 0; k < N; ++k)
                    last[k] = From::half(address(k) + 14);
    }
    // Moves halves to their places, which waits for the loads.
    __device__ void shift() {
        if constexpr (halves)
            if (skew % 4 > 0)
#pragma unroll
                for (unsigned k = 0; k < N; ++k)
#pragma unroll
                    for (unsigned i = 0; i < 4; ++i)
                        x[k].set_word(i,
                                      __funnelshift_r(x[k].word(i), i < 3 ? x[k].word(i + 1) : last[k], 16));
    }
};

} // namespace gr::reduce
