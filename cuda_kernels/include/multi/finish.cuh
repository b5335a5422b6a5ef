// Rounds the results of a list of arrays: a warp for each state of an exact sum, a thread for each maximum.
#pragma once

#include "exact/finish.cuh"
#include "multi/params.h"

namespace gr::multi {

using namespace exact;

inline __device__ void put_bits(const gr_multi_finish_params &p, uint64_t result, uint64_t bits) {
    const uint64_t at = p.out + result * p.item_bytes;
    if (p.item_bytes == 8)
        *reinterpret_cast<uint64_t *>(at) = bits;
    else if (p.item_bytes == 4)
        *reinterpret_cast<uint32_t *>(at) = static_cast<uint32_t>(bits);
    else
        *reinterpret_cast<uint16_t *>(at) = static_cast<uint16_t>(bits);
}

// The leading `bits` bits of the square root of 128 bits, whose first two are not both 0, and whether any bit
// follows: the digit-by-digit method, two bits of the radicand for a bit of the root.
inline __device__ uint64_t leading_root(uint64_t high, uint64_t low, unsigned bits, bool *more) {
    uint64_t root = 0, rest = 0;
#pragma unroll 1
    for (unsigned i = 0; i < bits; ++i) {
        rest = rest << 2 | high >> 62;
        high = high << 2 | low >> 62;
        low <<= 2;
        const uint64_t trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    *more = rest != 0 || high != 0 || low != 0;
    return root;
}

// The square root of carried, nonnegative digits, `count` of them up to the last nonzero one. `tail`: whether
// any but the leading five of them is nonzero. A square of `precision` + 1 bits, at which rounding changes,
// has at most 108 bits, and the leading 127 bits of the sum with the rest decide on which side of it the sum
// is.
inline __device__ uint64_t rounded_root(const int64_t *digit, unsigned count, unsigned below, bool tail,
                                        gr_exact_format format) {
    const auto at = [&](unsigned i) { return i < count ? static_cast<uint64_t>(digit[count - 1 - i]) : 0; };
    const unsigned shift = static_cast<unsigned>(__clz(static_cast<int>(at(0))));
    uint64_t high = at(0) << 32 | at(1), low = at(2) << 32 | at(3);
    bool more = tail;
    if (shift > 0) {
        high = high << shift | low >> (64 - shift);
        low = low << shift | at(4) >> (32 - shift);
    }
    more = more || (at(4) << shift & 0xffffffff) != 0;
    // The number is (high, low) * 2^exponent, and the root of an even exponent is wanted.
    int exponent = 32 * (static_cast<int>(count) - 4) - static_cast<int>(below) - static_cast<int>(shift);
    if (exponent % 2 != 0) {
        more = more || (low & 1) != 0;
        low = low >> 1 | high << 63;
        high >>= 1;
        ++exponent;
    }
    const unsigned bits = format.precision + 3;
    bool inexact;
    const uint64_t root = leading_root(high, low, bits, &inexact);
    const gr_exact_leading head = {root << (64 - bits), exponent / 2, inexact || more};
    return gr_exact_round(head, format);
}

// Flags of a state by its two last words.
inline __device__ uint32_t special_flags(uint64_t infinities, uint64_t nans) {
    return GR_EXACT_NOT_MINUS_ZERO | (nans != 0 ? GR_EXACT_NAN : 0) |
           (static_cast<uint32_t>(infinities) != 0 ? GR_EXACT_INFINITY : 0) |
           (infinities >> 32 != 0 ? GR_EXACT_MINUS_INFINITY : 0);
}

// By a warp: adds up the states of a result, and rounds the sum or its root, or writes the sum.
template <unsigned Words, unsigned Below>
__device__ void finish_state(const gr_multi_finish_params &p, uint64_t result, int64_t *state) {
    constexpr unsigned count = Words - GR_MULTI_SPECIAL_WORDS;
    const unsigned lane = threadIdx.x % 32;
    const int64_t *from = reinterpret_cast<const int64_t *>(p.states) + result * p.count * Words;
    for (unsigned i = lane; i < Words; i += 32) {
        int64_t sum = 0;
        for (uint64_t k = 0; k < p.count; ++k)
            sum += from[k * Words + i];
        state[i] = sum;
    }
    __syncwarp();
    const uint32_t flags =
        special_flags(static_cast<uint64_t>(state[Words - 2]), static_cast<uint64_t>(state[Words - 1]));
    const gr_exact_format format = {p.precision, p.exponent_bits};
    WarpDigits<count> digits(state);
    digits.carry();
    if (p.mode == GR_MULTI_STATE) {
        digits.store(state);
        int64_t *out = reinterpret_cast<int64_t *>(p.out) + result * Words;
        for (unsigned i = lane; i < Words; i += 32)
            out[i] = state[i];
        return;
    }
    uint64_t bits;
    if (!gr_exact_special(flags, 1, format, &bits)) {
        const bool negative = digits.make_positive();
        const unsigned used = digits.count();
        const bool third = digits.any(static_cast<int>(used) - 3),
                   fifth = digits.any(static_cast<int>(used) - 5);
        digits.store(state);
        if (used == 0)
            bits = 0;
        else if (p.mode == GR_MULTI_ROOT)
            bits = rounded_root(state, used, Below, fifth, format);
        else
            bits =
                gr_exact_round(gr_exact_leading_of_digits(
                                   static_cast<uint64_t>(state[used - 1]),
                                   used > 1 ? static_cast<uint64_t>(state[used - 2]) : 0,
                                   used > 2 ? static_cast<uint64_t>(state[used - 3]) : 0, third, used, Below),
                               format);
        if (negative)
            bits |= 1ull << (format.precision - 1 + format.exponent_bits);
    }
    if (lane == 0)
        put_bits(p, result, bits);
    __syncwarp();
}

template <unsigned Words, unsigned Below> __device__ void finish_states(const gr_multi_finish_params &p) {
    constexpr unsigned warps = GR_MULTI_FINISH_THREADS / 32;
    __shared__ int64_t states[warps][Words];
    const unsigned warp = threadIdx.x / 32;
    for (uint64_t result = uint64_t(blockIdx.x) * warps + warp; result < p.results;
         result += uint64_t(gridDim.x) * warps)
        finish_state<Words, Below>(p, result, states[warp]);
}

// Maxima are nonnegative float64, and numbers of the dtype of the results.
inline __device__ void finish_maxima(const gr_multi_finish_params &p) {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t result = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; result < p.results;
         result += step) {
        const uint64_t bits = reinterpret_cast<const uint64_t *>(p.states)[result];
        if (p.mode == GR_MULTI_FINITE) {
            reinterpret_cast<uint8_t *>(p.out)[result] = bits < 0x7ffull << 52;
            continue;
        }
        const gr_exact_decomposed parts = gr_exact_decompose(bits);
        const gr_exact_format format = {p.precision, p.exponent_bits};
        uint64_t rounded;
        if (!gr_exact_special(parts.flags, 1, format, &rounded)) {
            const uint64_t value = static_cast<uint64_t>(parts.value);
            const int shift = value == 0 ? 0 : __clzll(parts.value);
            const gr_exact_leading head = {value << shift,
                                           static_cast<int32_t>(parts.position) - 1075 - shift, false};
            rounded = value == 0 ? 0 : gr_exact_round(head, format);
        }
        put_bits(p, result, rounded);
    }
}

} // namespace gr::multi
