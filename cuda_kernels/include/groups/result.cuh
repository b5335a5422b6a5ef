// The last step of group sums: the integers of a result are added up and rounded once.
#pragma once

#include "exact/finish.cuh"
#include "groups/addends.cuh"

namespace gr::groups {

using exact::round_whole;
using exact::Whole;

// The bits of (units * 2^exponent) / divisor. The quotient has 95 bits at least.
inline __device__ uint64_t round_quotient(Whole units, int exponent, uint32_t divisor,
                                          gr_exact_format format) {
    using Bits128 = unsigned __int128;
    const bool negative = units < 0;
    const Bits128 magnitude = negative ? -static_cast<Bits128>(units) : static_cast<Bits128>(units);
    if (magnitude == 0)
        return 0;
    const auto leading_zeros = [](Bits128 x) {
        const auto upper = static_cast<long long>(x >> 64);
        return upper != 0 ? __clzll(upper) : 64 + __clzll(static_cast<long long>(x));
    };
    const int shift = leading_zeros(magnitude);
    const Bits128 shifted = magnitude << shift;
    Bits128 quotient = 0;
    uint64_t rest = 0;
#pragma unroll
    for (int i = 3; i >= 0; --i) {
        rest = rest << 32 | static_cast<uint32_t>(shifted >> 32 * i);
        const uint32_t digit = static_cast<uint32_t>(rest / divisor);
        rest -= static_cast<uint64_t>(digit) * divisor;
        quotient = quotient << 32 | digit;
    }
    const int more = leading_zeros(quotient);
    quotient <<= more;
    const gr_exact_leading head = {static_cast<uint64_t>(quotient >> 64), exponent + 64 - shift - more,
                                   static_cast<uint64_t>(quotient) != 0 || rest != 0};
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

// Adds a number of units to a state, each 2^position in it.
template <unsigned Digits> __device__ void add_to_state(int64_t *state, Whole units, int position) {
    const int64_t parts[] = {static_cast<int64_t>(units & 0xffffffff),
                             static_cast<int64_t>(units >> 32 & 0xffffffff),
                             static_cast<int64_t>(units >> 64)};
    constexpr unsigned last = Digits - 1;
    for (unsigned i = 0; i < 3; ++i) {
        const unsigned at = unsigned(position) + 32 * i;
        const gr_exact_addends pieces = gr_exact_split(parts[i], at);
        for (unsigned k = 0; k < 3; ++k) {
            if (at / 32 + k <= last)
                state[at / 32 + k] += pieces.at[k];
            else if (at / 32 + k == last + 1) // the last digit also has the bits above it, and the sign
                state[last] += int64_t(uint64_t(pieces.at[k]) << 32);
        }
    }
}

// Which planes are in use, and how the sums of all results are added up: the same for the whole grid. With
// Shared, the planes of a block are in shared memory.
template <class In, bool Shared = false> struct GroupResult {
    using Traits = Planes<In>;
    static constexpr unsigned few = 4, few_digits = 8;
    const gr_group_params &p;
    int64_t *planes;        // [plane][result]
    uint64_t results;       // per plane
    const int lowest_plane; // the number of plane 0 among the planes of all exponents
    uint32_t used[3];
    int first, last; // planes in use; first > last if there are none

    // `words`: three words with a bit for each plane in use.
    __device__ GroupResult(const gr_group_params &params, const uint32_t *words, int lowest_plane = 0)
        : p(params), planes(reinterpret_cast<int64_t *>(params.planes)), results(params.results),
          lowest_plane(lowest_plane), first(0), last(-1) {
#pragma unroll
        for (int i = 2; i >= 0; --i) {
            used[i] = words[i];
            if (used[i] != 0) {
                first = 32 * i + __ffs(int(used[i])) - 1;
                last = last >= 0 ? last : 32 * i + 31 - __clz(int(used[i]));
            }
        }
    }
    __device__ bool uses(int plane) const {
        return used[plane / 32] >> plane % 32 & 1;
    }
    __device__ int64_t *plane_at(int plane, uint64_t result) const {
        return planes + plane * results + result;
    }
    static __device__ int64_t load(const int64_t *at) {
        return Shared ? *at : __ldcg(at);
    }
    __device__ int position_of(int plane) const {
        return Traits::position + int(Traits::bits) * (plane + lowest_plane);
    }
    // Takes up to `few` planes at once.
    __device__ void take_planes(uint64_t result, int64_t (&value)[few]) const {
#pragma unroll
        for (unsigned i = 0; i < few; ++i)
            value[i] = first + int(i) <= last && uses(first + i) ? load(plane_at(first + i, result)) : 0;
#pragma unroll
        for (unsigned i = 0; i < few; ++i)
            if (value[i] != 0)
                *plane_at(first + i, result) = 0;
    }
    // Zeroes the planes and the flags of a result.
    __device__ void clear(uint64_t result) const {
        GR_EXACT_NO_UNROLL
        for (int plane = first; plane <= last; ++plane)
            if (uses(plane))
                *plane_at(plane, result) = 0;
        reinterpret_cast<uint32_t *>(p.flags)[result] = 0;
    }
    // The sum by a state of `Words` words whose digit 0 is digit `from` of the state of all exponents.
    template <unsigned Words>
    __device__ uint64_t round_state(uint64_t result, Whole units, int position, uint64_t divisor, int from,
                                    bool any) const {
        int64_t state[Words];
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < Words; ++i)
            state[i] = 0;
        state[Words - 1] = GR_EXACT_NOT_MINUS_ZERO;
        if (units != 0)
            add_to_state<Words - 2>(state, units, position - 32 * from);
        GR_EXACT_NO_UNROLL
        for (int plane = first; any && plane <= last; ++plane) {
            if (!uses(plane))
                continue;
            int64_t *const at = plane_at(plane, result), value = load(at);
            if (value != 0) {
                *at = 0;
                add_to_state<Words - 2>(state, value, position_of(plane) - 32 * from);
            }
        }
        const uint32_t below = Traits::size.below - 32 * uint32_t(from); // wraps: it is only subtracted
        return gr_exact_result(state, {Words, below}, divisor, Traits::format);
    }
    // The bits of (units * 2^exponent) / divisor.
    static __device__ uint64_t round_units(Whole units, int exponent, uint32_t divisor) {
        if (divisor != 1)
            return round_quotient(units, exponent, divisor, Traits::format);
        uint32_t bits;
        if (sizeof(In) == 4 && int64_t(units) == units && round_narrow(int64_t(units), exponent, bits))
            return bits;
        return round_whole(units, exponent, Traits::format);
    }
    // The float32 of units * 2^exponent, unless it is subnormal or overflows. One instruction rounds; a
    // normal result times a power of two is exact.
    static __device__ bool round_narrow(int64_t units, int exponent, uint32_t &bits) {
        bits = __float_as_uint(__ll2float_rn(units));
        const int to = int(bits >> 23 & 255) + exponent;
        if (units != 0)
            bits += uint32_t(exponent) << 23;
        return units == 0 || (to > 0 && to < 255);
    }
    // The float64 of units * 2^exponent, of rounded units, unless it is subnormal or overflows.
    static __device__ bool round_narrow(double units, int exponent, uint64_t &bits) {
        bits = uint64_t(__double_as_longlong(units));
        const int to = int(bits >> 52 & 2047) + exponent;
        if (units != 0)
            bits += uint64_t(exponent) << 52;
        return units == 0 || (to > 0 && to < 2047);
    }
    // The bits of (units * 2^position + the planes) / divisor; |units| < 2^unit_bits, or 0 with no bits.
    __device__ uint64_t round(uint64_t result, Whole units, int position, int unit_bits, uint64_t divisor,
                              bool outside) const {
        const bool any = outside && first <= last;
        const int lowest = !any             ? position
                           : unit_bits == 0 ? position_of(first)
                                            : min(position, position_of(first));
        const int highest = max(unit_bits > 0 ? position + unit_bits : 0, any ? position_of(last) + 63 : 0);
        if (divisor >> 32 == 0 && highest - lowest < 126 && last - first < int(few)) {
            Whole sum = unit_bits > 0 ? units << (position - lowest) : 0;
            if (any) {
                int64_t value[few];
                take_planes(result, value);
#pragma unroll
                for (unsigned i = 0; i < few; ++i)
                    if (first + int(i) <= last)
                        sum += static_cast<Whole>(value[i]) << (position_of(first + i) - lowest);
            }
            return round_units(sum, lowest - int(Traits::size.below), uint32_t(divisor));
        }
        const int from = lowest / 32;
        // The digits that add_to_state writes: of units up to 64 bits above their position, and two more.
        const int top = 2 + max(unit_bits > 0 ? (position + 64) / 32 : 0, any ? position_of(last) / 32 : 0);
        if (top - from < int(few_digits))
            return round_state<few_digits + 2>(result, units, position, divisor, from, any);
        return round_state<Traits::size.words>(result, units, position, divisor, 0, any);
    }
    __device__ void put_empty(uint64_t result) const {
        using Bits = typename Traits::Bits;
        reinterpret_cast<Bits *>(p.out)[result] = *reinterpret_cast<const Bits *>(p.empty_result);
    }
    // Writes a result. Without `outside`, no element has been added to its planes, or has set a flag.
    __device__ void finish(uint64_t result, Whole units, int position, int unit_bits, uint64_t rows,
                           bool outside = true) const {
        using Bits = typename Traits::Bits;
        constexpr uint64_t sign = 1ull << (Traits::format.precision - 1 + Traits::format.exponent_bits);
        const bool mean = p.options & GR_GROUP_MEAN;
        uint32_t *const flags_at = reinterpret_cast<uint32_t *>(p.flags) + result;
        const uint32_t flags = outside ? __ldcg(flags_at) : 0;
        uint64_t bits = round(result, units, position, unit_bits, mean && rows > 0 ? rows : 1, outside),
                 special;
        uint32_t left = 0;
        if (mean && rows == 0)
            return put_empty(result);
        if (gr_exact_special(flags, 1, Traits::format, &special)) {
            bits = special;
        } else if (bits == 0 && flags & GR_GROUP_MINUS_ZERO) {
            bits = sign;
            left = GR_GROUP_OPEN_SIGN;
            atomicAdd(header_of(p) + GR_GROUP_OPEN_SIGNS, 1u);
        }
        if (flags != left)
            *flags_at = left;
        reinterpret_cast<Bits *>(p.out)[result] = static_cast<Bits>(bits);
    }
};

// The integer in the planes, which are then 0.
inline __device__ Whole take_integer_planes(const gr_group_params &p, uint64_t result) {
    auto *planes = reinterpret_cast<int64_t *>(p.planes) + result;
    Whole units = __ldcg(planes);
    planes[0] = 0;
    if (p.options & GR_GROUP_MEAN) {
        units += static_cast<Whole>(__ldcg(planes + p.results)) << 32;
        planes[p.results] = 0;
    }
    return units;
}

// Sums of integers wrap; means are of float64.
inline __device__ void finish_integer(const gr_group_params &p, uint64_t result, Whole units, uint64_t rows) {
    uint64_t bits = static_cast<uint64_t>(units);
    if (p.options & GR_GROUP_MEAN && rows == 0) {
        bits = p.empty_result[0];
    } else if (p.options & GR_GROUP_MEAN) {
        int64_t state[Planes<int64_t>::size.words] = {};
        state[Planes<int64_t>::size.words - 1] = GR_EXACT_NOT_MINUS_ZERO;
        add_to_state<Planes<int64_t>::size.words - 2>(state, units, 0);
        bits = gr_exact_result(state, Planes<int64_t>::size, rows, Planes<int64_t>::format);
    }
    reinterpret_cast<uint64_t *>(p.out)[result] = bits;
}

} // namespace gr::groups
