// Loads under a condition, and stores, of neighbouring elements.
#pragma once

#include "conv/conv.cuh"

namespace gr::conv {

// Neighbours, or zeros, by one instruction for each 16 bytes or fewer: of conditional loads the compiler
// makes branches and, where one of several has a condition of its own, an instruction for each element.
template <class Pack> __device__ Pack load_if(bool there, const Pack *from) {
    enum { BYTES = sizeof(Pack), WORDS = BYTES / 4 };
    static_assert(BYTES == 2 || BYTES == 4 || BYTES == 8 || BYTES % 16 == 0, "whole instructions");
    Pack it;
    if constexpr (BYTES == 2)
        asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.b16 %0, 0;\n\t@p ld.global.b16 %0, [%2]; }"
            : "=&h"(reinterpret_cast<uint16_t &>(it))
            : "r"(unsigned(there)), "l"(from));
    else if constexpr (BYTES == 4)
        asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.b32 %0, 0;\n\t@p ld.global.b32 %0, [%2]; }"
            : "=&r"(reinterpret_cast<uint32_t &>(it))
            : "r"(unsigned(there)), "l"(from));
    else {
        uint32_t *v = reinterpret_cast<uint32_t *>(&it);
        enum { EACH = WORDS < 4 ? 2 : 4 };
#pragma unroll
        for (int i = 0; i < WORDS; i += EACH)
            if constexpr (EACH == 2)
                asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\tmov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\t"
                    "@p ld.global.v2.b32 {%0, %1}, [%3]; }"
                    : "=&r"(v[i]), "=&r"(v[i + 1])
                    : "r"(unsigned(there)), "l"(from));
            else
                asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\tmov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\t"
                    "mov.b32 %2, 0;\n\tmov.b32 %3, 0;\n\t@p ld.global.v4.b32 {%0, %1, %2, %3}, [%5]; }"
                    : "=&r"(v[i]), "=&r"(v[i + 1]), "=&r"(v[i + EACH - 2]), "=&r"(v[i + EACH - 1])
                    : "r"(unsigned(there)), "l"(reinterpret_cast<const uint32_t *>(from) + i));
    }
    return it;
}

// One element, as load_if loads it.
template <class T> struct alignas(sizeof(T)) Element { T at; };

template <class T> __device__ const Element<T> *element(const T *at) {
    return reinterpret_cast<const Element<T> *>(at);
}

template <class Pack> __device__ void store(Pack *to, const Pack &it) {
    enum { PIECE = sizeof(Pack) < 16 ? sizeof(Pack) : 16 };
    struct alignas(PIECE) Piece {
        uint32_t words[PIECE / 4];
    };
#pragma unroll
    for (int i = 0; i < int(sizeof(Pack) / PIECE); ++i)
        store_at_once(reinterpret_cast<Piece *>(to) + i, reinterpret_cast<const Piece *>(&it)[i]);
}

} // namespace gr::conv
