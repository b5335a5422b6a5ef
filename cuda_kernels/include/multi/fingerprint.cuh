// The fingerprint of a list of arrays: a sum of hashes of their bytes, in words of eight.
#pragma once

#include "multi/bits.cuh"
#include "multi/segments.cuh"

namespace gr::multi {

// Adds mix(word + (position + 1) * 0x9e3779b97f4a7c15) for each word, modulo 2^64. mix is a bijection, so
// that a change of one word always changes the sum. docs/how-to/many-tensors.md has the formula.
struct Mixer {
    static constexpr uint64_t position_factor = 0x9e3779b97f4a7c15ull;
    uint64_t sum = 0;

    static __device__ uint64_t fold_halves(uint64_t x) {
        return x ^ x >> 32;
    }
    static __device__ uint64_t mix(uint64_t x) {
        constexpr uint64_t factor = 0xd6e8feb86659fd93ull;
        x = fold_halves(x) * factor;
        x = fold_halves(x) * factor;
        return fold_halves(x);
    }
    // `key` is (position + 1) * position_factor.
    __device__ void add(uint64_t word, uint64_t key) {
        sum += mix(word + key);
    }
    __device__ void add(const Vec16<uint64_t> &two, uint64_t key) {
        add(two.at(0), key);
        add(two.at(1), key + position_factor);
    }
};

// Bytes of an array, a multiple of 8 from its first one on, as 16-byte vectors at any address. Where the
// address is not a multiple of 16, a vector is a part of two aligned ones. The second of these must not
// extend beyond the array, so that the last bytes of the array are not part of a vector.
struct Bytes {
    uint64_t address, count, vectors;
    unsigned skew; // of the address

    explicit __device__ Bytes(uint64_t address, uint64_t count)
        : address(address), count(count), skew(address % 16) {
        const uint64_t behind = skew == 0 ? 0 : 16 - skew;
        vectors = count > behind ? (count - behind) / 16 : 0;
    }
    template <bool IsAligned> __device__ Vec16<uint64_t> vector(uint64_t number) const {
        const Vec16<uint64_t> *aligned = reinterpret_cast<const Vec16<uint64_t> *>(address - skew) + number;
        if (IsAligned)
            return load_vec16(aligned);
        const uint4 first = *reinterpret_cast<const uint4 *>(aligned),
                    second = *reinterpret_cast<const uint4 *>(aligned + 1);
        uint32_t words[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
#pragma unroll
        for (unsigned i = 0; i < 6; ++i)
            words[i] = skew & 8 ? words[i + 2] : words[i];
#pragma unroll
        for (unsigned i = 0; i < 5; ++i)
            words[i] = skew & 4 ? words[i + 1] : words[i];
        Vec16<uint64_t> x;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            x.set_word(i, __funnelshift_r(words[i], words[i + 1], 8 * (skew % 4)));
        return x;
    }
    // A word behind the vectors; zeros follow the last byte.
    __device__ uint64_t last_word(unsigned number) const {
        const uint64_t first = vectors * 16 + number * 8;
        uint64_t word = 0;
        for (unsigned i = 0; i < 8 && first + i < count; ++i)
            word |= static_cast<uint64_t>(*reinterpret_cast<const uint8_t *>(address + first + i)) << 8 * i;
        return word;
    }
    __device__ unsigned last_words() const {
        return static_cast<unsigned>((count - vectors * 16 + 7) / 8);
    }
};

// `position`: of the first word.
template <bool IsAligned> __device__ void mix_vectors(const Bytes &bytes, uint64_t position, Mixer &mixer) {
    constexpr unsigned loads = 4, step = 2 * GR_MULTI_THREADS; // words from a vector of a thread to its next
    constexpr uint64_t each = GR_MULTI_THREADS * loads;
    uint64_t key = (position + 2 * threadIdx.x + 1) * Mixer::position_factor;
    uint64_t number = threadIdx.x;
#pragma unroll 1
    for (; number - threadIdx.x + each <= bytes.vectors; number += each) {
        Vec16<uint64_t> x[loads];
#pragma unroll
        for (unsigned k = 0; k < loads; ++k)
            x[k] = bytes.vector<IsAligned>(number + k * GR_MULTI_THREADS);
#pragma unroll
        for (unsigned k = 0; k < loads; ++k)
            mixer.add(x[k], key + k * step * Mixer::position_factor);
        key += loads * step * Mixer::position_factor;
    }
#pragma unroll 1
    for (; number < bytes.vectors; number += GR_MULTI_THREADS) {
        mixer.add(bytes.vector<IsAligned>(number), key);
        key += step * Mixer::position_factor;
    }
}

inline __device__ void mix_bytes(const Bytes &bytes, uint64_t position, Mixer &mixer) {
    if (bytes.skew == 0)
        mix_vectors<true>(bytes, position, mixer);
    else
        mix_vectors<false>(bytes, position, mixer);
    if (threadIdx.x < bytes.last_words())
        mixer.add(bytes.last_word(threadIdx.x),
                  (position + 2 * bytes.vectors + threadIdx.x + 1) * Mixer::position_factor);
}

inline __device__ void fingerprint_list(const gr_multi_params &p) {
    const bool each = (p.flags & GR_MULTI_EACH) != 0;
    uint64_t *out = reinterpret_cast<uint64_t *>(p.out);
    Mixer mixer;
    each_segment(p, p.item_bytes, [&](const Segment &segment) {
        const uint64_t position =
            p.offset + (each ? 0 : segment.position) + segment.first * p.item_bytes / GR_MULTI_WORD_BYTES;
        mix_bytes(Bytes(segment.address, segment.count * p.item_bytes), position, mixer);
        if (each) {
            put_warp(out + segment.result, mixer.sum, true);
            mixer.sum = 0;
        }
    });
    if (!each)
        put_warp(out, mixer.sum, true);
}

} // namespace gr::multi
