// Sixteen bytes of elements, the most that one load brings.
#pragma once

#include <cstdint>

template <class In> struct alignas(16) Chunk {
    static constexpr unsigned length = 16 / sizeof(In);
    In at[length];

    __device__ uint32_t word(unsigned i) const {
        return reinterpret_cast<const uint32_t *>(at)[i];
    }
    __device__ void set_word(unsigned i, uint32_t word) {
        reinterpret_cast<uint32_t *>(at)[i] = word;
    }
};

// Loads a chunk that nobody will want again.
template <class In> __device__ Chunk<In> load_chunk(const Chunk<In> *from) {
    union Both {
        Chunk<In> chunk;
        uint32_t word[4];
        __device__ Both() {
        }
    } both;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(both.word[0]), "=r"(both.word[1]), "=r"(both.word[2]), "=r"(both.word[3])
                 : "l"(from));
    return both.chunk;
}

// The other vector of a pair, which may lie otherwise to the 16-byte boundaries than the first.
template <class In> struct Source {
    uint64_t at;

    explicit __device__ Source(uint64_t address) : at(address) {
    }
    __device__ Chunk<In> chunk_at(uint64_t index) const {
        const uint64_t from = at + 16 * index;
        if (at % 16 == 0)
            return load_chunk(reinterpret_cast<const Chunk<In> *>(from));
        Chunk<In> x;
#pragma unroll
        for (unsigned e = 0; e < Chunk<In>::length; ++e)
            x.at[e] = reinterpret_cast<const In *>(from)[e];
        return x;
    }
};
