/* The superaccumulator (Neal; Collange et al.), a wide fixed-point number that holds any sum of
 * floating-point numbers exactly: its format and its arithmetic (accumulation, carries, division, rounding).
 * Read by C and CUDA.
 *
 * A state is `words` 64-bit integers: digits, the least significant first, then a count, then flags. Digits
 * stand for
 *     the sum of digit[i] * 2^(32 i - below).
 * A digit is signed and has far more than 32 bits of capacity (carry-save form), so states are added word by
 * word, in any order, as integers: carries are propagated, and bits are rounded, only when a result is read.
 * Flags are joined by `or`.
 */
#ifndef GR_EXACT_SUPERACCUMULATOR_H
#define GR_EXACT_SUPERACCUMULATOR_H

#include <stdint.h>

#ifdef __CUDACC__
#define GR_EXACT_INLINE static inline __host__ __device__
#define GR_EXACT_NO_UNROLL _Pragma("unroll 1") /* once per result: not worth the instructions */
#else
#include <stdbool.h>
#define GR_EXACT_INLINE static inline
#define GR_EXACT_NO_UNROLL
#endif

/* Words of a state, and bits of it below the binary point. */
typedef struct gr_exact_size {
    uint32_t words, below;
} gr_exact_size;

/* Sizes of states. Above the point they have 64 bits more than the greatest element needs: no number of
   elements overflows. */
enum {
    GR_EXACT_NARROW_WORDS = 16, /* float32, float16 and bfloat16: 128 bytes */
    GR_EXACT_NARROW_BELOW = 160,
    GR_EXACT_WIDE_WORDS = 72, /* float64, and products of the other dtypes: 576 bytes */
    GR_EXACT_WIDE_BELOW = 1088,
    GR_EXACT_WIDEST_WORDS = 144, /* products of float64 */
    GR_EXACT_WIDEST_BELOW = 2176,
};

/* Bits of the word of flags. In device memory its upper half counts the blocks that have added to a state.
 */
enum {
    GR_EXACT_NAN = 1,
    GR_EXACT_INFINITY = 2,
    GR_EXACT_MINUS_INFINITY = 4,
    GR_EXACT_NOT_MINUS_ZERO = 8, /* an element was not -0 */
    GR_EXACT_OVERFLOW = 16,      /* set by merges on a device: the sum exceeded the digits */
};

/* An IEEE 754 binary format: bits of the significand with its leading one, and bits of the exponent. */
typedef struct gr_exact_format {
    uint32_t precision, exponent_bits;
} gr_exact_format;

/* ---- accumulation ---- */

/* value * 2^(position - below) as addends of three digits, from digit position / 32 on. */
typedef struct gr_exact_addends {
    int64_t at[3];
} gr_exact_addends;

GR_EXACT_INLINE gr_exact_addends gr_exact_split(int64_t value, uint32_t position) {
    const uint32_t shift = position % 32;
    const int64_t above = value >> 32;
    const gr_exact_addends pieces = {{(int64_t)((uint64_t)value << shift & 0xffffffff),
                                      value >> (32 - shift) & 0xffffffff, above >> (32 - shift)}};
    return pieces;
}

/* A decomposed float64: value * 2^(position - 1075), or flags alone. */
typedef struct gr_exact_decomposed {
    int64_t value;
    uint32_t position;
    uint32_t flags;
} gr_exact_decomposed;

GR_EXACT_INLINE gr_exact_decomposed gr_exact_decompose(uint64_t bits) {
    const bool negative = bits >> 63;
    const uint32_t exponent = (uint32_t)(bits >> 52) & 2047;
    const uint64_t fraction = bits & 0xfffffffffffffull;
    gr_exact_decomposed parts = {0, 1, GR_EXACT_NOT_MINUS_ZERO};
    if (exponent == 2047) {
        parts.flags |= fraction != 0 ? GR_EXACT_NAN : negative ? GR_EXACT_MINUS_INFINITY : GR_EXACT_INFINITY;
        return parts;
    }
    if (bits << 1 == 0 && negative)
        parts.flags = 0;
    parts.value = (int64_t)(fraction | (uint64_t)(exponent > 0) << 52);
    if (negative)
        parts.value = -parts.value;
    if (exponent > 0)
        parts.position = exponent;
    return parts;
}

/* Adds a float64, given by its bits. A narrow state accepts only values of a float32. */
GR_EXACT_INLINE void gr_exact_add(int64_t *state, gr_exact_size size, uint64_t bits) {
    const gr_exact_decomposed parts = gr_exact_decompose(bits);
    state[size.words - 1] |= parts.flags;
    if (parts.value == 0)
        return;
    /* A narrow state has no digits for the lowest bits of a float64, which are 0 in a float32. */
    int64_t value = parts.value;
    int32_t position = (int32_t)parts.position - 1075 + (int32_t)size.below;
    if (position < 0) {
        value /= (int64_t)1 << -position;
        position = 0;
    }
    const gr_exact_addends pieces = gr_exact_split(value, (uint32_t)position);
    for (uint32_t i = 0; i < 3; ++i)
        state[(uint32_t)position / 32 + i] += pieces.at[i];
}

/* ---- rounding ---- */

/* Propagates carries: all digits get 32 bits, but for the last, which takes the sign. */
GR_EXACT_INLINE void gr_exact_carry(int64_t *digit, uint32_t count) {
    int64_t carry = 0;
    GR_EXACT_NO_UNROLL
    for (uint32_t i = 0; i + 1 < count; ++i) {
        const int64_t sum = digit[i] + carry;
        digit[i] = sum & 0xffffffff;
        carry = sum >> 32;
    }
    digit[count - 1] += carry;
}

/* The leading 64 bits of a number, bits * 2^exponent, and whether any nonzero bit follows (sticky bit). Zero
   has zeros. */
typedef struct gr_exact_leading {
    uint64_t bits;
    int32_t exponent;
    bool sticky;
} gr_exact_leading;

GR_EXACT_INLINE bool gr_exact_any(const int64_t *digit, uint32_t count) {
    GR_EXACT_NO_UNROLL
    for (uint32_t i = 0; i < count; ++i)
        if (digit[i] != 0)
            return true;
    return false;
}

/* From the top three of `count` carried digits, the first not 0. `more`: a nonzero digit follows. */
GR_EXACT_INLINE gr_exact_leading gr_exact_leading_of_digits(uint64_t high, uint64_t middle, uint64_t low,
                                                            bool more, uint32_t count, uint32_t below) {
#ifdef __CUDA_ARCH__
    const uint32_t shift = (uint32_t)__clz((int)high);
#else
    const uint32_t shift = (uint32_t)__builtin_clz((uint32_t)high);
#endif
    const gr_exact_leading head = {
        (high << 32 | middle) << shift | low >> (32 - shift),
        32 * ((int32_t)count - 2) - (int32_t)below - (int32_t)shift,
        (low << shift & 0xffffffff) != 0 || more,
    };
    return head;
}

/* From `count` carried, nonnegative digits, the last of which is not 0. */
GR_EXACT_INLINE gr_exact_leading gr_exact_leading_of(const int64_t *digit, uint32_t count, uint32_t below) {
    return gr_exact_leading_of_digits((uint64_t)digit[count - 1], count > 1 ? (uint64_t)digit[count - 2] : 0,
                                      count > 2 ? (uint64_t)digit[count - 3] : 0,
                                      count > 3 && gr_exact_any(digit, count - 3), count, below);
}

/* The leading bits of the quotient by a divisor below 2^32: long division digit by digit, from the first
   nonzero one. */
GR_EXACT_INLINE gr_exact_leading gr_exact_divide_short(const int64_t *digit, uint32_t count, uint32_t below,
                                                       uint64_t divisor, uint32_t bits, int32_t *at) {
    uint64_t high = 0, middle = 0, low = 0, remainder = 0;
    uint32_t found = 0;
    *at = (int32_t)count;
    GR_EXACT_NO_UNROLL
    while (found < (bits > 33 ? 3u : 2u)) {
        --*at;
        const uint64_t value = remainder << 32 | (*at >= 0 ? (uint64_t)digit[*at] : 0);
        const uint64_t part = value / divisor;
        remainder = value - part * divisor;
        high = found == 0 ? part : high;
        middle = found == 1 ? part : middle;
        low = found == 2 ? part : low;
        found += found > 0 || part != 0;
    }
    return gr_exact_leading_of_digits(high, middle, low, remainder != 0, (uint32_t)*at + found, below);
}

/* The leading bits of the quotient by a larger divisor: long division bit by bit. There are two loops: ptxas
   13.0 (sm_90) compiled one loop, which took a digit before every 32nd bit, to a load of digit[at - 1]. */
GR_EXACT_INLINE gr_exact_leading gr_exact_divide_long(const int64_t *digit, uint32_t count, uint32_t below,
                                                      uint64_t divisor, uint32_t bits, int32_t *at) {
    uint64_t quotient = 0, remainder = 0, word = 0;
    uint32_t bit = 0; /* bits of `word` that are not consumed */
    *at = (int32_t)count;
    GR_EXACT_NO_UNROLL
    while (quotient >> (bits - 1) == 0) {
        --*at;
        word = *at >= 0 ? (uint64_t)digit[*at] : 0;
        GR_EXACT_NO_UNROLL
        for (bit = 32; bit > 0 && quotient >> (bits - 1) == 0;) {
            --bit;
            remainder = 2 * remainder + (word >> bit & 1);
            quotient = 2 * quotient + (remainder >= divisor);
            remainder -= remainder >= divisor ? divisor : 0;
        }
    }
    const gr_exact_leading head = {quotient << (64 - bits),
                                   32 * *at + (int32_t)bit - (int32_t)below - (int32_t)(64 - bits),
                                   remainder != 0 || (word & ((1ull << bit) - 1)) != 0};
    return head;
}

/* At least the first `bits` bits of the quotient, by long division. The caller tests whether any of the
   first *left digits is nonzero. */
GR_EXACT_INLINE gr_exact_leading gr_exact_divide(const int64_t *digit, uint32_t count, uint32_t below,
                                                 uint64_t divisor, uint32_t bits, uint32_t *left) {
    int32_t at;
    const gr_exact_leading head = divisor >> 32 == 0
                                      ? gr_exact_divide_short(digit, count, below, divisor, bits, &at)
                                      : gr_exact_divide_long(digit, count, below, divisor, bits, &at);
    *left = at > 0 ? (uint32_t)at : 0;
    return head;
}

/* Whether the divisor is a power of two, 2^*exponent, so that only the exponent of the quotient changes. */
GR_EXACT_INLINE bool gr_exact_is_power_of_two(uint64_t divisor, int32_t *exponent) {
    *exponent = 0;
    if ((divisor & (divisor - 1)) != 0)
        return false;
    GR_EXACT_NO_UNROLL
    while (divisor >> *exponent > 1)
        ++*exponent;
    return true;
}

/* The bits of the number in a format, rounded to nearest, ties to even. */
GR_EXACT_INLINE uint64_t gr_exact_round(gr_exact_leading head, gr_exact_format format) {
    const int32_t precision = (int32_t)format.precision;
    const int32_t min_unit = 3 - (1 << (format.exponent_bits - 1)) - precision; /* exponent of the last bit */
    const uint64_t leading = 1ull << (precision - 1);
    const uint64_t infinity = ((1ull << format.exponent_bits) - 1) << (precision - 1);
    int32_t unit = head.exponent + 64 - precision;
    if (unit < min_unit)
        unit = min_unit;
    const int32_t cut = unit - head.exponent; /* bits; 11 or more */
    uint64_t kept = cut < 64 ? head.bits >> cut : 0;
    const bool half = cut <= 64 && (head.bits >> (cut - 1) & 1) != 0;
    const uint64_t lower = cut <= 64 ? head.bits & ((1ull << (cut - 1)) - 1) : head.bits;
    if (half && (head.sticky || lower != 0 || (kept & 1) != 0))
        ++kept;
    if (kept < leading)
        return kept; /* subnormal, or 0 */
    const uint64_t bits = ((uint64_t)(unit - min_unit + 1) << (precision - 1)) + (kept - leading);
    return bits < infinity ? bits : infinity;
}

/* Whether the flags alone determine the quotient (infinities and NaN). Writes its bits. */
GR_EXACT_INLINE bool gr_exact_special(uint32_t flags, uint64_t divisor, gr_exact_format format,
                                      uint64_t *bits) {
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    const uint64_t quiet = 1ull << (format.precision - 2);
    const uint64_t infinity = ((1ull << format.exponent_bits) - 1) << (format.precision - 1);
    const uint32_t infinities = flags & (GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY);
    if ((flags & GR_EXACT_NAN) || infinities == (GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY) || divisor == 0)
        *bits = infinity | quiet;
    else if (infinities != 0)
        *bits = infinity | (flags & GR_EXACT_MINUS_INFINITY ? sign : 0);
    else
        return false;
    return true;
}

/* The bits of a state divided by `divisor`, which is at most 2^63. Propagates carries in the state. */
GR_EXACT_INLINE uint64_t gr_exact_result(int64_t *state, gr_exact_size size, uint64_t divisor,
                                         gr_exact_format format) {
    const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
    const uint32_t flags = (uint32_t)state[size.words - 1];
    uint64_t bits;
    if (gr_exact_special(flags, divisor, format, &bits))
        return bits;
    uint32_t count = size.words - 2;
    gr_exact_carry(state, count);
    const bool negative = state[count - 1] < 0;
    if (negative) {
        GR_EXACT_NO_UNROLL
        for (uint32_t i = 0; i < count; ++i)
            state[i] = -state[i];
        gr_exact_carry(state, count);
    }
    GR_EXACT_NO_UNROLL
    while (count > 0 && state[count - 1] == 0)
        --count;
    if (count == 0)
        return flags & GR_EXACT_NOT_MINUS_ZERO ? 0 : sign;
    gr_exact_leading head;
    int32_t power;
    if (gr_exact_is_power_of_two(divisor, &power)) {
        head = gr_exact_leading_of(state, count, size.below);
        head.exponent -= power;
    } else {
        uint32_t left;
        head = gr_exact_divide(state, count, size.below, divisor, format.precision + 1, &left);
        head.sticky = head.sticky || gr_exact_any(state, left);
    }
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

#endif
