// Rounds the state of an exact sum, by a warp: its lanes propagate carries in parallel.
#pragma once

#include "exact/bins.cuh"

namespace gr::exact {

// The format that the result is rounded to.
template <class In> struct Format;
template <> struct Format<float> { static constexpr gr_exact_format format = {24, 8}; };
template <> struct Format<double> { static constexpr gr_exact_format format = {53, 11}; };
template <> struct Format<gr_f16> { static constexpr gr_exact_format format = {11, 5}; };
template <> struct Format<gr_bf16> { static constexpr gr_exact_format format = {8, 8}; };

// The digits of a state, distributed over the lanes of a warp, neighbouring digits to each lane.
template <unsigned Count> struct WarpDigits {
    static constexpr unsigned each = (Count + 31) / 32;
    int64_t digit[each];
    unsigned first; // number of digit[0]

    __device__ WarpDigits(const int64_t *state) : first(threadIdx.x % 32 * each) {
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            digit[i] = first + i < Count ? state[first + i] : 0;
    }
    // Adds to the digits of a lane, of which all then have 32 bits; returns the carry to the next lane.
    __device__ int64_t ripple(int64_t carry, uint32_t to_each = 0) {
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const int64_t sum = digit[i] + carry + to_each;
            carry = sum >> 32;
            digit[i] = sum & 0xffffffff;
        }
        return carry;
    }
    // Makes digits of 32 bits of a number and a sign, in two's complement up to the last lane, by carry
    // lookahead. A first turn leaves carries of -1, 0 or 1. The second adds 2^32 - 1 to each digit, which is
    // -1 on the whole, so that no carry is negative; the last carry then is 0 or 1 in each lane, and begins
    // with the 1 that is missing. A warp adds up carries that were generated or are propagated as bits of a
    // word.
    __device__ void carry() {
        long long carry = __shfl_up_sync(0xffffffffu, static_cast<long long>(ripple(0)), 1);
        int more = static_cast<int>(ripple(first == 0 ? 0 : carry, 0xffffffff));
        more = __shfl_up_sync(0xffffffffu, more, 1);
        const bool generates = ripple(first == 0 ? 0 : more) != 0;
        bool propagates = true;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            propagates = propagates && digit[i] == 0xffffffff;
        const uint32_t generated = __ballot_sync(0xffffffffu, generates),
                       propagated = __ballot_sync(0xffffffffu, propagates);
        ripple((((generated | propagated) + generated + 1) ^ propagated) >> (threadIdx.x % 32) & 1);
    }
    // Of a negative number makes the magnitude: digits below the first that is not 0 stay, that one is
    // negated, and the bits of those above are inverted.
    __device__ bool make_positive() {
        const int last = static_cast<int>(digit[each - 1]);
        if (__shfl_sync(0xffffffffu, last, 31) >= 0)
            return false;
        bool zero = true;
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            zero = zero && digit[i] == 0;
            digit[i] = ~digit[i] & 0xffffffff;
        }
        const uint32_t before = __ballot_sync(0xffffffffu, !zero) & ((1u << (threadIdx.x % 32)) - 1);
        ripple(before == 0);
        return true;
    }
    // The number of digits up to the last one that is not 0.
    __device__ unsigned count() const {
        unsigned upto = 0;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            upto = digit[i] != 0 ? first + i + 1 : upto;
        return warp_max(upto);
    }
    // Whether any of the first `most` digits is not 0.
    __device__ bool any(int most) const {
        bool found = false;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            found = found || (static_cast<int>(first + i) < most && digit[i] != 0);
        return __any_sync(0xffffffffu, found);
    }
    // Adds units, each 2^position of the first digit. Units below that are 0.
    __device__ void add(Whole units, int position) {
        units >>= max(0, -position);
        position = max(position, 0);
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const int at = static_cast<int>(first + i) - position / 32, shift = 32 * at - position % 32;
            const int64_t piece =
                static_cast<int64_t>(shift < 0 ? units << (-shift & 31) : units >> min(max(shift, 0), 127));
            if (at >= 0 && at < 5)
                digit[i] += at < 4 ? piece & 0xffffffff : piece; // the last has the sign
        }
    }
    // Before carries are propagated.
    __device__ void store_sums(int64_t *state) const {
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            if (first + i < Count)
                state[first + i] = digit[i];
        __syncwarp();
    }
    __device__ void store(int64_t *state) const {
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            if (first + i < Count)
                state[first + i] =
                    first + i + 1 < Count ? digit[i] : static_cast<int32_t>(digit[i]); // its sign
        __syncwarp();
    }
};

// The bits of a number with `flags` divided by `divisor`, for all lanes of a warp, which store its digits.
template <unsigned Count>
__device__ uint64_t round_digits(WarpDigits<Count> &digits, int64_t *state, uint32_t flags, unsigned below,
                                 uint64_t divisor, gr_exact_format format) {
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    digits.carry();
    const bool negative = digits.make_positive();
    const unsigned count = digits.count();
    if (count == 0)
        return flags & GR_EXACT_NOT_MINUS_ZERO ? 0 : sign;
    const bool more = digits.any(static_cast<int>(count) - 3);
    digits.store(state);
    gr_exact_leading head;
    int32_t power;
    if (gr_exact_is_power_of_two(divisor, &power)) {
        head = gr_exact_leading_of_digits(
            static_cast<uint64_t>(state[count - 1]), count > 1 ? static_cast<uint64_t>(state[count - 2]) : 0,
            count > 2 ? static_cast<uint64_t>(state[count - 3]) : 0, more, count, below);
        head.exponent -= power;
    } else {
        uint32_t left;
        head = gr_exact_divide(state, count, below, divisor, format.precision + 1, &left);
        head.sticky = digits.any(static_cast<int>(left)) || head.sticky;
    }
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

// The bits of a state in shared memory divided by `divisor`: gr_exact_result(), for all lanes of a warp.
template <unsigned Words>
__device__ uint64_t warp_result(int64_t *state, unsigned below, uint64_t divisor, gr_exact_format format) {
    const uint32_t flags = static_cast<uint32_t>(state[Words - 1]);
    uint64_t bits;
    if (gr_exact_special(flags, divisor, format, &bits))
        return bits;
    WarpDigits<Words - 2> digits(state);
    return round_digits(digits, state, flags, below, divisor, format);
}

// Adds the initial element to a state: mostly 0, of which only the flag counts.
template <class In, unsigned Words>
__device__ void add_initial(const gr_exact_params &p, uint64_t result, int64_t *state, unsigned below) {
    const In *parts = reinterpret_cast<const In *>(p.initial);
    const double initial = as_double(parts[p.components == 2 ? result & 1 : 0]);
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(initial));
    if (bits == 0)
        state[Words - 1] |= GR_EXACT_NOT_MINUS_ZERO;
    else
        gr_exact_add(state, {Words, below}, bits);
}

template <class In> __device__ void put(const gr_exact_params &p, uint64_t result, uint64_t bits) {
    using Out = typename Bits<sizeof(In)>::type;
    reinterpret_cast<Out *>(p.out)[result] = static_cast<Out>(bits);
}

// Writes the block's state unchanged; for the first warp. The upper half of the word of flags counted
// blocks.
template <unsigned Words>
__device__ void put_state(const gr_exact_params &p, uint64_t result, const int64_t *state) {
    int64_t *out = reinterpret_cast<int64_t *>(p.out) + result * Words;
    for (unsigned i = threadIdx.x; i < Words; i += 32)
        out[i] = i == Words - 1 ? state[i] & 0xffffffff : state[i];
}

// Rounds the block's state, with the initial element, to the result, or writes the state if that is the
// result; for the first warp.
template <class In, unsigned Words>
__device__ void finish(const gr_exact_params &p, uint64_t result, int64_t *state, unsigned below) {
    if (p.flags & GR_EXACT_STATES)
        return put_state<Words>(p, result, state);
    if (threadIdx.x == 0)
        add_initial<In, Words>(p, result, state, below);
    __syncwarp();
    const uint64_t counted = static_cast<uint64_t>(state[Words - 2]);
    const uint64_t divisor = !(p.flags & GR_EXACT_MEAN) ? 1 : p.flags & GR_EXACT_MASKED ? counted : p.count;
    const uint64_t bits = warp_result<Words>(state, below, divisor, Format<In>::format);
    if (threadIdx.x == 0)
        put<In>(p, result, bits);
}

// The bits of a whole number of units, each 2^exponent.
inline __device__ uint64_t round_whole(Whole units, int exponent, gr_exact_format format) {
    using Bits128 = unsigned __int128;
    const bool negative = units < 0;
    const Bits128 magnitude = negative ? -static_cast<Bits128>(units) : static_cast<Bits128>(units);
    if (magnitude == 0)
        return 0;
    const int64_t upper = static_cast<int64_t>(magnitude >> 64);
    const int shift = upper != 0 ? __clzll(upper) : 64 + __clzll(static_cast<int64_t>(magnitude));
    const Bits128 shifted = magnitude << shift;
    const gr_exact_leading head = {static_cast<uint64_t>(shifted >> 64), exponent + 64 - shift,
                                   static_cast<uint64_t>(shifted) != 0};
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

} // namespace gr::exact
