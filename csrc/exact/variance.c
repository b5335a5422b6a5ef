/* Rounds variances, standard deviations and norms from the states of exact sums and sums of squares, on the
   host: quotients of long integers, and their roots. */
#include <math.h>
#include <string.h>

#include "exact/exact.h"

enum {
    DIGITS = GR_EXACT_WIDEST_WORDS + 4, /* of n Q, and of S^2 in its unit */
    LEADING = 8,                        /* digits of a quotient that are computed: at least 225 bits */
};

typedef unsigned __int128 u128;

/* A nonnegative integer of 32-bit digits, the least significant first. Digits outside of [low, high) are 0.
 */
typedef struct natural {
    uint32_t digit[DIGITS];
    uint32_t low, high;
} natural;

/* The leading 128 bits of a number, bits * 2^exponent, and whether any nonzero bit follows. */
typedef struct leading {
    u128 bits;
    int32_t exponent;
    bool sticky;
} leading;

static void trim(natural *x) {
    while (x->high > x->low && x->digit[x->high - 1] == 0)
        --x->high;
    while (x->low < x->high && x->digit[x->low] == 0)
        ++x->low;
}

/* The magnitude of a normalised state. */
static void read_magnitude(const int64_t *state, gr_exact_size size, natural *x) {
    const uint32_t count = size.words - 2;
    const bool negative = state[count - 1] < 0;
    uint64_t carry = negative ? 1 : 0;
    memset(x->digit, 0, sizeof x->digit);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t digit = (uint32_t)state[i];
        carry += negative ? ~digit : digit;
        x->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    x->low = 0;
    x->high = count;
    trim(x);
}

/* Adds x times a factor, shifted by a number of digits, to a sum that has them. */
static void add_product(natural *sum, const natural *x, uint32_t factor, uint32_t shift) {
    uint64_t carry = 0;
    uint32_t i = x->low;
    for (; i < x->high || carry != 0; ++i) {
        carry += sum->digit[i + shift] + (i < x->high ? (uint64_t)factor * x->digit[i] : 0);
        sum->digit[i + shift] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Subtracts. Returns false if y > x. */
static bool subtract(natural *x, const natural *y) {
    int64_t borrow = 0;
    for (uint32_t i = 0; i < DIGITS; ++i) {
        borrow += (int64_t)x->digit[i] - y->digit[i];
        x->digit[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return borrow == 0;
}

static void clear(natural *x) {
    memset(x->digit, 0, sizeof x->digit);
    x->low = 0;
    x->high = DIGITS;
}

/* The first LEADING digits of x / divisor, with digits behind the last one of x. */
static void divide(const natural *x, int32_t *exponent, bool *sticky, uint64_t divisor, natural *quotient) {
    uint32_t digits[LEADING], found = 0;
    int32_t at = (int32_t)x->high;
    u128 remainder = 0;
    while (found < LEADING) {
        --at;
        remainder = remainder << 32 | (at >= (int32_t)x->low ? x->digit[at] : 0);
        const uint32_t digit = (uint32_t)(remainder / divisor);
        remainder %= divisor;
        if (digit != 0 || found > 0)
            digits[found++] = digit;
    }
    *sticky = *sticky || remainder != 0 || at > (int32_t)x->low;
    *exponent += 32 * at;
    clear(quotient);
    for (uint32_t i = 0; i < LEADING; ++i)
        quotient->digit[i] = digits[LEADING - 1 - i];
    quotient->high = LEADING;
    trim(quotient);
}

/* The first bits of x * 2^exponent, which is not 0. */
static leading leading_of(const natural *x, int32_t exponent, bool sticky) {
    leading head = {0, exponent + 32 * ((int32_t)x->high - 4), sticky};
    for (uint32_t i = 0; i < 4; ++i)
        head.bits = head.bits << 32 | (x->high > i ? x->digit[x->high - 1 - i] : 0);
    const uint32_t shift = (uint32_t)__builtin_clz(x->digit[x->high - 1]);
    const uint32_t next = x->high > 4 ? x->digit[x->high - 5] : 0;
    if (shift > 0)
        head.bits = head.bits << shift | next >> (32 - shift);
    head.exponent -= (int32_t)shift;
    head.sticky = head.sticky || (uint32_t)(next << shift) != 0 || (x->high > 5 && x->low < x->high - 5);
    return head;
}

/* The root of 2^126 to 2^128 - 1, rounded down. */
static uint64_t root_of(u128 x) {
    const double near = sqrt((double)x);
    uint64_t root = near < 0x1p64 ? (uint64_t)near : UINT64_MAX;
    const u128 mean = ((u128)root + x / root) / 2; /* of Newton's method: at least the root rounded down */
    root = mean > UINT64_MAX ? UINT64_MAX : (uint64_t)mean;
    while ((u128)root * root > x)
        --root;
    return root;
}

static gr_exact_leading rooted(leading head) {
    if ((head.exponent & 1) != 0) {
        head.sticky = head.sticky || (head.bits & 1) != 0;
        head.bits >>= 1;
        ++head.exponent;
    }
    const uint64_t root = root_of(head.bits);
    return (gr_exact_leading){root, head.exponent / 2, head.sticky || (u128)root * root != head.bits};
}

static gr_exact_leading shortened(leading head) {
    return (gr_exact_leading){(uint64_t)(head.bits >> 64), head.exponent + 64,
                              head.sticky || (uint64_t)head.bits != 0};
}

/* n Q - S^2 of the components, in units of Q. Returns false if it is less than 0, as in bytes that were made
   up. */
static bool subtract_mean(const gr_exact_variances *self, size_t result, natural *over) {
    natural square, sum;
    clear(&square);
    const uint32_t shift = (self->square_size.below - 2 * self->sum_size.below) / 32;
    for (uint32_t part = 0; part < self->parts; ++part) {
        read_magnitude(self->sums + (result * self->parts + part) * self->sum_size.words, self->sum_size,
                       &sum);
        for (uint32_t i = sum.low; i < sum.high; ++i)
            add_product(&square, &sum, sum.digit[i], i + shift);
    }
    const natural q = *over;
    const uint64_t count = self->counts[result];
    clear(over);
    add_product(over, &q, (uint32_t)count, 0);
    add_product(over, &q, (uint32_t)(count >> 32), 1);
    const bool good = subtract(over, &square);
    trim(over);
    return good;
}

static uint64_t round_result(const gr_exact_variances *self, size_t result) {
    const uint64_t infinity = ((1ull << self->format.exponent_bits) - 1) << (self->format.precision - 1);
    const uint64_t nan = infinity | 1ull << (self->format.precision - 2);
    const int64_t *squares = self->squares + result * self->square_size.words;
    const int64_t flags = squares[self->square_size.words - 1] & ~(int64_t)GR_EXACT_NOT_MINUS_ZERO;
    natural over;
    read_magnitude(squares, self->square_size, &over);
    if (self->sums == NULL && flags != 0)
        return flags & GR_EXACT_NAN ? nan : infinity;
    const uint64_t count = self->sums == NULL ? 1 : self->counts[result];
    if (flags != 0 || count == 0 || (self->sums != NULL && !subtract_mean(self, result, &over)))
        return nan;
    const bool is_zero = over.high == over.low;
    const int64_t free = self->sums == NULL ? 1 : (int64_t)count - self->ddof;
    if (free <= 0)
        return is_zero ? nan : infinity;
    if (is_zero)
        return 0;
    int32_t exponent = -(int32_t)self->square_size.below;
    bool sticky = false;
    if (self->sums != NULL) {
        natural quotient;
        divide(&over, &exponent, &sticky, count, &quotient);
        divide(&quotient, &exponent, &sticky, (uint64_t)free, &over);
    }
    const leading head = leading_of(&over, exponent, sticky);
    return gr_exact_round(self->root ? rooted(head) : shortened(head), self->format);
}

void gr_exact_variances_round(const gr_exact_variances *self, size_t count, uint64_t *bits) {
    for (size_t i = 0; i < count; ++i)
        bits[i] = round_result(self, i);
}
