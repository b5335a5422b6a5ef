// What a list of arrays gives by the bits of its elements: the largest magnitude, and a fingerprint.
#pragma once

#include "exact/bins.cuh"
#include "multi/segments.cuh"

namespace gr::multi {

inline __device__ uint64_t max_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}
inline __device__ void add_result(uint64_t *to, uint64_t x, bool is_sum) {
    unsigned long long *word = reinterpret_cast<unsigned long long *>(to);
    if (is_sum)
        atomicAdd(word, static_cast<unsigned long long>(x));
    else
        atomicMax(word, static_cast<unsigned long long>(x));
}

// Adds what all lanes of a warp have to a result: sums modulo 2^64, or maxima.
inline __device__ void put_warp(uint64_t *to, uint64_t x, bool is_sum) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        const uint64_t other = __shfl_xor_sync(0xffffffffu, static_cast<unsigned long long>(x), offset);
        x = is_sum ? x + other : max_of(x, other);
    }
    if (threadIdx.x % 32 == 0 && x != 0)
        add_result(to, x, is_sum);
}

// The largest magnitude, as the bits of a float64; NaNs are larger than infinity.
template <class In> struct Largest {
    using Key = typename Bits<sizeof(In)>::type;
    static constexpr unsigned loads = 4, batch = 1, width = Vec16<In>::length;
    static constexpr Key magnitude_bits = static_cast<Key>(~(Key(1) << (8 * sizeof(In) - 1)));
    Key most = 0;

    __device__ void add_bits(Key bits) {
        const Key key = bits & magnitude_bits;
        most = key > most ? key : most;
    }
    __device__ void add(const Vec16<In> *x) {
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            add_bits(reinterpret_cast<const Vec16<Key> &>(*x).at(e));
    }
    __device__ void add_one(In x) {
        add_bits(reinterpret_cast<const Key &>(x));
    }
    __device__ void step() {
    }
    // The bits of a NaN of any dtype become those of one NaN.
    __device__ uint64_t take() {
        const double x = exact::as_double(reinterpret_cast<const In &>(most));
        most = 0;
        return isnan(x) ? 0x7ff8000000000000ull : static_cast<uint64_t>(__double_as_longlong(x));
    }
};

template <class In> __device__ void largest_of_list(const gr_multi_params &p) {
    const bool each = (p.flags & GR_MULTI_EACH) != 0;
    uint64_t *out = reinterpret_cast<uint64_t *>(p.out);
    Largest<In> largest;
    each_segment<sizeof(In)>(p, [&](const Segment &segment) {
        add_segment<In>(segment, largest);
        if (each)
            put_warp(out + segment.result, largest.take(), false);
    });
    if (!each)
        put_warp(out, largest.take(), false);
}

// Adds mix(bits + (position + 1) * 0x9e3779b97f4a7c15) for each word, modulo 2^64. mix is a bijection, so
// that a change of one word always changes the sum. docs/how-to/many-tensors.md has the formula.
struct Mixer {
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
    // `key` is (position + 1) times the constant.
    __device__ void add(uint64_t bits, uint64_t key) {
        sum += mix(bits + key);
    }
};

enum : uint64_t { POSITION_FACTOR = 0x9e3779b97f4a7c15ull };

template <class Word>
__device__ void fingerprint_segment(const Segment &segment, uint64_t first, Mixer &mixer) {
    constexpr unsigned width = 16 / sizeof(Word), loads = 4;
    const Aligned<Word> part(segment);
    const Vec16<Word> *from = part.vector();
    const uint64_t each = uint64_t(blockDim.x) * loads;
#pragma unroll 1
    for (uint64_t at = 0; at < part.vectors; at += each) {
        Vec16<Word> x[loads];
        const bool whole = at + each <= part.vectors;
#pragma unroll
        for (unsigned k = 0; k < loads; ++k) {
            const uint64_t number = at + k * blockDim.x + threadIdx.x;
            if (whole || number < part.vectors)
                x[k] = load_vec16(from + number);
        }
#pragma unroll
        for (unsigned k = 0; k < loads; ++k) {
            const uint64_t number = at + k * blockDim.x + threadIdx.x;
            const uint64_t key = (first + part.head + number * width + 1) * POSITION_FACTOR;
            if (whole || number < part.vectors)
#pragma unroll
                for (unsigned e = 0; e < width; ++e)
                    mixer.add(x[k].at(e), key + e * POSITION_FACTOR);
        }
    }
    part.each_end([&](uint64_t k) { mixer.add(part.first[k], (first + k + 1) * POSITION_FACTOR); });
}

template <class Word> __device__ void fingerprint_list(const gr_multi_params &p) {
    const bool each = (p.flags & GR_MULTI_EACH) != 0;
    uint64_t *out = reinterpret_cast<uint64_t *>(p.out);
    Mixer mixer;
    each_segment<sizeof(Word)>(p, [&](const Segment &segment) {
        fingerprint_segment<Word>(segment, p.offset + (each ? segment.first : segment.position), mixer);
        if (each) {
            put_warp(out + segment.result, mixer.sum, true);
            mixer.sum = 0;
        }
    });
    if (!each)
        put_warp(out, mixer.sum, true);
}

} // namespace gr::multi
