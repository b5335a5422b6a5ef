// The largest magnitude of a list of arrays, and how warps add to results that are words of 64 bits.
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
    each_segment(p, sizeof(In), [&](const Segment &segment) {
        add_segment<In>(segment, largest);
        if (each)
            put_warp(out + segment.result, largest.take(), false);
    });
    if (!each)
        put_warp(out, largest.take(), false);
}

} // namespace gr::multi
