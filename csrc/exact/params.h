/* Exact sums: the state that holds one, its arithmetic, and what the kernels are told. Read by C and CUDA
 * alike.
 *
 * A state is `words` 64-bit integers. The last is a word of flags, the one before it a count, and all before
 * that are digits, the least one first: together they stand for
 *     the sum of digit[i] * 2^(32 i - below).
 * A digit is signed and has room for far more than 32 bits, so that states are added word by word, in any
 * order, as integers: nothing is carried until a sum is wanted, and nothing is rounded before that.
 * Flags are joined by `or`.
 */
#ifndef GR_EXACT_PARAMS_H
#define GR_EXACT_PARAMS_H

#include "reduce/general/params.h"

#ifdef __CUDACC__
#define GR_EXACT_SHARED static inline __host__ __device__
#define GR_EXACT_LOOP _Pragma("unroll 1") /* once a result: not worth the instructions */
#else
#include <stdbool.h>
#define GR_EXACT_SHARED static inline
#define GR_EXACT_LOOP
#endif

/* How many words a state has, and how many bits below the point. */
typedef struct gr_exact_size {
    uint32_t words, below;
} gr_exact_size;

/* The sizes there are. Above the point they have 64 bits more than the greatest element needs: no count of
   elements overflows. */
enum {
    GR_EXACT_NARROW_WORDS = 16, /* float32, float16 and bfloat16: 128 bytes */
    GR_EXACT_NARROW_BELOW = 160,
    GR_EXACT_WIDE_WORDS = 72, /* float64, and products of the others: 576 bytes */
    GR_EXACT_WIDE_BELOW = 1088,
    GR_EXACT_WIDEST_WORDS = 144, /* products of float64 */
    GR_EXACT_WIDEST_BELOW = 2176,
};

/* Of the word of flags. Its upper half counts, in the device's memory, the blocks that have joined a state.
 */
enum {
    GR_EXACT_NAN = 1,
    GR_EXACT_INFINITY = 2,
    GR_EXACT_MINUS_INFINITY = 4,
    GR_EXACT_OTHER = 8,     /* there was something else than -0 */
    GR_EXACT_OVERFLOW = 16, /* of states merged on a device: the sum was beyond the digits */
};

/* A floating-point format of IEEE's kind: bits of a significand with its leading one, and of an exponent. */
typedef struct gr_exact_format {
    uint32_t precision, exponent_bits;
} gr_exact_format;

/* ---- adding ---- */

/* value * 2^(position - below) in three pieces, for the digits from number position / 32 on. */
typedef struct gr_exact_pieces {
    int64_t at[3];
} gr_exact_pieces;

GR_EXACT_SHARED gr_exact_pieces gr_exact_split(int64_t value, uint32_t position) {
    const uint32_t shift = position % 32;
    const int64_t above = value >> 32;
    const gr_exact_pieces pieces = {{(int64_t)((uint64_t)value << shift & 0xffffffff),
                                     value >> (32 - shift) & 0xffffffff, above >> (32 - shift)}};
    return pieces;
}

/* What a float64 is made of: value * 2^(position - 1075), or flags alone. */
typedef struct gr_exact_parts {
    int64_t value;
    uint32_t position;
    uint32_t flags;
} gr_exact_parts;

GR_EXACT_SHARED gr_exact_parts gr_exact_take_apart(uint64_t bits) {
    const bool negative = bits >> 63;
    const uint32_t exponent = (uint32_t)(bits >> 52) & 2047;
    const uint64_t fraction = bits & 0xfffffffffffffull;
    gr_exact_parts parts = {0, 1, GR_EXACT_OTHER};
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

/* Adds the bits of a float64; to a narrow state, one that a float32 can hold. */
GR_EXACT_SHARED void gr_exact_add(int64_t *state, gr_exact_size size, uint64_t bits) {
    const gr_exact_parts parts = gr_exact_take_apart(bits);
    state[size.words - 1] |= parts.flags;
    if (parts.value == 0)
        return;
    /* A narrow state has no digits for what a float64 may have below; of a float32 that is 0. */
    int64_t value = parts.value;
    int32_t position = (int32_t)parts.position - 1075 + (int32_t)size.below;
    if (position < 0) {
        value /= (int64_t)1 << -position;
        position = 0;
    }
    const gr_exact_pieces pieces = gr_exact_split(value, (uint32_t)position);
    for (uint32_t i = 0; i < 3; ++i)
        state[(uint32_t)position / 32 + i] += pieces.at[i];
}

/* ---- the result ---- */

/* Makes digits of 32 bits, but for the last, which takes the sign. */
GR_EXACT_SHARED void gr_exact_carry(int64_t *digit, uint32_t count) {
    int64_t carry = 0;
    GR_EXACT_LOOP
    for (uint32_t i = 0; i + 1 < count; ++i) {
        const int64_t sum = digit[i] + carry;
        digit[i] = sum & 0xffffffff;
        carry = sum >> 32;
    }
    digit[count - 1] += carry;
}

/* The leading 64 bits of a number, bits * 2^exponent, and whether anything follows them. All is 0 of 0. */
typedef struct gr_exact_head {
    uint64_t bits;
    int32_t exponent;
    bool rest;
} gr_exact_head;

GR_EXACT_SHARED bool gr_exact_any(const int64_t *digit, uint32_t count) {
    GR_EXACT_LOOP
    for (uint32_t i = 0; i < count; ++i)
        if (digit[i] != 0)
            return true;
    return false;
}

/* Of the leading three of `count` carried digits, of which the first is not 0, and whether any follows them.
 */
GR_EXACT_SHARED gr_exact_head gr_exact_head_of(uint64_t high, uint64_t middle, uint64_t low, bool more,
                                               uint32_t count, uint32_t below) {
#ifdef __CUDA_ARCH__
    const uint32_t shift = (uint32_t)__clz((int)high);
#else
    const uint32_t shift = (uint32_t)__builtin_clz((uint32_t)high);
#endif
    const gr_exact_head head = {
        (high << 32 | middle) << shift | low >> (32 - shift),
        32 * ((int32_t)count - 2) - (int32_t)below - (int32_t)shift,
        (low << shift & 0xffffffff) != 0 || more,
    };
    return head;
}

/* Of carried digits that are not negative, `count` of them up to the last that is not 0. */
GR_EXACT_SHARED gr_exact_head gr_exact_lead(const int64_t *digit, uint32_t count, uint32_t below) {
    return gr_exact_head_of((uint64_t)digit[count - 1], count > 1 ? (uint64_t)digit[count - 2] : 0,
                            count > 2 ? (uint64_t)digit[count - 3] : 0,
                            count > 3 && gr_exact_any(digit, count - 3), count, below);
}

/* The first bits of their quotient by what fits in a digit: digit after digit, from the first but 0. */
GR_EXACT_SHARED gr_exact_head gr_exact_divide_short(const int64_t *digit, uint32_t count, uint32_t below,
                                                    uint64_t divisor, uint32_t bits, int32_t *at) {
    uint64_t high = 0, middle = 0, low = 0, remainder = 0;
    uint32_t found = 0;
    *at = (int32_t)count;
    GR_EXACT_LOOP
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
    return gr_exact_head_of(high, middle, low, remainder != 0, (uint32_t)*at + found, below);
}

/* The same by more: bit after bit. In two loops: of one, which took a digit before every 32nd bit, ptxas 13.0
   (sm_90) made a load of digit[at - 1]. */
GR_EXACT_SHARED gr_exact_head gr_exact_divide_long(const int64_t *digit, uint32_t count, uint32_t below,
                                                   uint64_t divisor, uint32_t bits, int32_t *at) {
    uint64_t quotient = 0, remainder = 0, word = 0;
    uint32_t bit = 0; /* of the word, that are still to be taken */
    *at = (int32_t)count;
    GR_EXACT_LOOP
    while (quotient >> (bits - 1) == 0) {
        --*at;
        word = *at >= 0 ? (uint64_t)digit[*at] : 0;
        GR_EXACT_LOOP
        for (bit = 32; bit > 0 && quotient >> (bits - 1) == 0;) {
            --bit;
            remainder = 2 * remainder + (word >> bit & 1);
            quotient = 2 * quotient + (remainder >= divisor);
            remainder -= remainder >= divisor ? divisor : 0;
        }
    }
    const gr_exact_head head = {quotient << (64 - bits),
                                32 * *at + (int32_t)bit - (int32_t)below - (int32_t)(64 - bits),
                                remainder != 0 || (word & ((1ull << bit) - 1)) != 0};
    return head;
}

/* The first `bits` bits of their quotient or more, by long division. Whether any of the first *left digits
   follows is for the caller to see. */
GR_EXACT_SHARED gr_exact_head gr_exact_divide(const int64_t *digit, uint32_t count, uint32_t below,
                                              uint64_t divisor, uint32_t bits, uint32_t *left) {
    int32_t at;
    const gr_exact_head head = divisor >> 32 == 0
                                   ? gr_exact_divide_short(digit, count, below, divisor, bits, &at)
                                   : gr_exact_divide_long(digit, count, below, divisor, bits, &at);
    *left = at > 0 ? (uint32_t)at : 0;
    return head;
}

/* Whether to divide is to count the exponent down, as by 1: by how much. */
GR_EXACT_SHARED bool gr_exact_is_power(uint64_t divisor, int32_t *exponent) {
    *exponent = 0;
    if ((divisor & (divisor - 1)) != 0)
        return false;
    GR_EXACT_LOOP
    while (divisor >> *exponent > 1)
        ++*exponent;
    return true;
}

/* The bits of the number in a format: rounded once, to nearest, ties to even. */
GR_EXACT_SHARED uint64_t gr_exact_round(gr_exact_head head, gr_exact_format format) {
    const int32_t precision = (int32_t)format.precision;
    const int32_t least = 3 - (1 << (format.exponent_bits - 1)) - precision; /* exponent of the last bit */
    const uint64_t leading = 1ull << (precision - 1);
    const uint64_t infinity = ((1ull << format.exponent_bits) - 1) << (precision - 1);
    int32_t unit = head.exponent + 64 - precision;
    if (unit < least)
        unit = least;
    const int32_t cut = unit - head.exponent; /* bits; 11 or more */
    uint64_t kept = cut < 64 ? head.bits >> cut : 0;
    const bool half = cut <= 64 && (head.bits >> (cut - 1) & 1) != 0;
    const uint64_t lower = cut <= 64 ? head.bits & ((1ull << (cut - 1)) - 1) : head.bits;
    if (half && (head.rest || lower != 0 || (kept & 1) != 0))
        ++kept;
    if (kept < leading)
        return kept; /* subnormal, or 0 */
    const uint64_t bits = ((uint64_t)(unit - least + 1) << (precision - 1)) + (kept - leading);
    return bits < infinity ? bits : infinity;
}

/* Whether flags alone make the result of a quotient, and its bits: infinities, and NaN. */
GR_EXACT_SHARED bool gr_exact_special(uint32_t flags, uint64_t divisor, gr_exact_format format,
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

/* The bits of a state divided by `divisor`, up to 2^63. Carries the state. */
GR_EXACT_SHARED uint64_t gr_exact_result(int64_t *state, gr_exact_size size, uint64_t divisor,
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
        GR_EXACT_LOOP
        for (uint32_t i = 0; i < count; ++i)
            state[i] = -state[i];
        gr_exact_carry(state, count);
    }
    GR_EXACT_LOOP
    while (count > 0 && state[count - 1] == 0)
        --count;
    if (count == 0)
        return flags & GR_EXACT_OTHER ? 0 : sign;
    gr_exact_head head;
    int32_t power;
    if (gr_exact_is_power(divisor, &power)) {
        head = gr_exact_lead(state, count, size.below);
        head.exponent -= power;
    } else {
        uint32_t left;
        head = gr_exact_divide(state, count, size.below, divisor, format.precision + 1, &left);
        head.rest = head.rest || gr_exact_any(state, left);
    }
    return gr_exact_round(head, format) | (negative ? sign : 0);
}

/* ---- the kernels ---- */

enum {
    GR_EXACT_THREADS = 256, /* the most of a block of the narrow kernels */
    GR_EXACT_NARROW_BINS = 16,
    GR_EXACT_HALF_THREADS = 512, /* as above, of bfloat16 */
    GR_EXACT_HALF_BYTES = 192,   /* of a thread's bins of bfloat16 */
    GR_EXACT_NARROW_FOLD = 8192, /* additions to a bin before it has to be folded into digits */
    GR_EXACT_WIDE_THREADS = 224, /* of a block of the wide kernels, whose bins take 1 KB a thread */
    GR_EXACT_WIDE_BINS = 64,
    GR_EXACT_WIDE_FOLD = 1024,
    GR_EXACT_WINDOW_THREADS = 512, /* the most of a block of the kernels for few elements */
    GR_EXACT_WINDOW_ADDS = 128,    /* elements of a thread, and two more at the ends of an array */
    GR_EXACT_WINDOW_LOADS = 4,     /* of 16 bytes, that it has on their way; and of */
    GR_EXACT_WINDOW_HALF = 2,      /* bfloat16 */
    GR_EXACT_WINDOW_PAIRS = 2,     /* two vectors, for each of them */
    GR_EXACT_WINDOW_HALF_PAIRS = 1,
    GR_EXACT_SLOT_BYTES = 32,    /* in which a block of them hands its sum over */
    GR_EXACT_PRODUCT_FIRST = 22, /* of the wide bins, that products of float32 go to */
    GR_EXACT_PRODUCT_BINS = 19,
    GR_EXACT_PRODUCT_RESIDENT = 3, /* blocks of a multiprocessor */
};

enum {
    GR_EXACT_PACKED = 1, /* the elements of a result lie side by side, and all of them count */
    GR_EXACT_MASKED = 2, /* only elements whose byte at `second` is not 0 count */
    GR_EXACT_MEAN = 4,   /* the sum is divided by the number of elements that count */
    GR_EXACT_STATES = 8, /* states are wanted, whose digits may have more bits, and nothing is rounded */
};

typedef struct gr_exact_params {
    uint64_t in;
    uint64_t second; /* the other vector of a dot product, or a mask; else 0 */
    uint64_t out;
    uint64_t states;  /* one a result, all 0 before and after, where several blocks share a result; behind
                         them slots of all its blocks but one, in the kernels for few elements */
    uint64_t results; /* with each part of a complex one counted */
    uint64_t count;   /* of elements of a result; of products, for a part of a complex one */
    gr_dims keep;     /* where the elements of a result begin */
    gr_dims along;    /* from there to each of them */
    uint32_t flags;
    uint32_t fold;                     /* additions, as above; tests have less */
    uint32_t components;               /* 2 of complex elements: their parts are summed by themselves */
    uint32_t share;                    /* of a block, in vectors, in the kernels for few elements */
    uint8_t initial[GR_INITIAL_BYTES]; /* an element, in parts; it takes part once */
} gr_exact_params;

/* What the rungs of the ladder are told, which sum whole arrays of float32. */
typedef struct gr_exact_rung_params {
    uint64_t in;
    uint64_t out;
    uint64_t count;
    uint64_t sums;  /* a sum of each block, with its error */
    uint64_t state; /* all 0 before and after; of rungs that have no state a ticket */
} gr_exact_rung_params;

#endif
