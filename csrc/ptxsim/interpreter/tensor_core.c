/* One step of an H200's tensor cores, as measured by tests/gpu/tensor_cores.cu. All exact products and the
   addend are truncated toward zero to a common bit position: 25 bits (13 bits for 8-bit types) below the
   largest exponent. The exponent of a product is the sum of its factors' exponents, and none counts as less
   than -133. The exact sum is truncated to f32 (13 fraction bits for 8-bit types), or rounded to nearest even
   for f16. No result is a negative zero. */
#include "interpreter/tensor_core.h"

#include "interpreter/exec.h"
#include "interpreter/half.h"

enum {
    FRACTION_BITS = 10, /* fraction bits of a significand, for all types */
    FRACTION_BITS_C = 23,
    KEPT_BITS = 25,         /* bits kept below the largest exponent */
    KEPT_BITS_8BIT = 13,    /* bits kept below it for 8-bit types */
    MIN_EXPONENT = -133,    /* minimal exponent for the common bit position */
    EXPONENT_ZERO = -10000, /* pseudo-exponents of special values */
    EXPONENT_INFINITY = 20000,
    EXPONENT_NAN = 100000,
    MAX_FINITE_EXPONENT = 1000, /* exponents above this value are not finite */
};

typedef struct format {
    unsigned bits, fraction, shift;
    bool finite; /* no infinities, and a single NaN whose bits are all set */
} format;

static const format formats[] = {
    [PTX_CORE_TF32] = {19, 10, 13, false}, [PTX_CORE_F16] = {16, 10, 0, false},
    [PTX_CORE_BF16] = {16, 7, 0, false},   [PTX_CORE_E4M3] = {8, 3, 0, true},
    [PTX_CORE_E5M2] = {8, 2, 0, false},
};

/* Branch-free, so that it vectorises. */
static inline __attribute__((always_inline)) void split(u32 bits, u32 minus, format f, s32 *significand,
                                                        s32 *exponent) {
    const u32 x = bits >> f.shift, top = (1u << (f.bits - 1 - f.fraction)) - 1;
    const u32 biased = x >> f.fraction & top, fraction = x & ((1u << f.fraction) - 1);
    const u32 negative = (x >> (f.bits - 1) & 1) ^ minus;
    const s32 value = (s32)((fraction | (biased ? 1u << f.fraction : 0)) << (FRACTION_BITS - f.fraction));
    const bool special = biased == top && (!f.finite || fraction == (1u << f.fraction) - 1);
    s32 e = (s32)(biased ? biased : 1) - (s32)(top >> 1);
    e = value ? e : EXPONENT_ZERO;
    e = special ? (fraction ? EXPONENT_NAN : EXPONENT_INFINITY) : e;
    *significand = negative ? -value : value;
    *exponent = e;
}

PTX_CLONES void ptx_core_split(ptx_core_type type, const uint32_t *bits, unsigned count, bool minus,
                               ptx_core_parts *parts) {
    const format f = formats[type];
    PTX_IVDEP for (unsigned i = 0; i < count; i++)
        split(bits[i], minus, f, &parts->significand[i], &parts->exponent[i]);
}

/* ---- infinities and NaNs ---- */

static u32 special_sum(const ptx_core_step *step, const s32 *sa, const s32 *ea, const s32 *sb, const s32 *eb,
                       s32 sc, s32 ec) {
    bool nan = ec == EXPONENT_NAN, plus = ec == EXPONENT_INFINITY && sc >= 0,
         minus = ec == EXPONENT_INFINITY && sc < 0;
    for (unsigned k = 0; k < step->k; k++) {
        const s32 x = ea[k], y = eb[k * PTX_CORE_COLUMNS];
        const bool infinite = x == EXPONENT_INFINITY || y == EXPONENT_INFINITY;
        nan = nan || x == EXPONENT_NAN || y == EXPONENT_NAN ||
              (infinite && (x == EXPONENT_ZERO || y == EXPONENT_ZERO));
        const bool negative = (sa[k] < 0) != (sb[k * PTX_CORE_COLUMNS] < 0);
        plus = plus || (infinite && !negative);
        minus = minus || (infinite && negative);
    }
    const u32 infinity = step->half ? 0x7c00 : 0x7f800000, sign = step->half ? 0x8000 : 0x80000000;
    if (nan || (plus && minus))
        return step->half ? PTX_NAN_HALF : PTX_NAN_F32;
    return minus ? infinity | sign : infinity;
}

/* ---- sums ---- */

/* The sum, which has fewer than 53 bits, times a power of two. */
static inline f64 scaled(s32 low, s32 high, s32 exponent) {
    return ((f64)low + (f64)high) * ptx_f64_of((u64)(exponent + 1023) << 52);
}

static inline f64 truncate_bits(f64 value, unsigned bits) {
    return ptx_f64_of(ptx_bits_f64(value) & UINT64_MAX << (53 - bits));
}

/* Converts a number that is exact as a normal f32; smaller ones are truncated, larger ones become
   infinite. */
static u32 to_f32(f64 value) {
    const f64 magnitude = value < 0 ? -value : value;
    const u32 sign = value < 0 ? 0x80000000u : 0;
    if (magnitude >= 0x1p128)
        return sign | 0x7f800000u;
    if (magnitude >= 0x1p-126)
        return ptx_bits_f32((f32)value);
    const u32 units = (u32)(magnitude * 0x1p149);
    return units ? sign | units : 0;
}

static u32 to_f16(f64 value) {
    const u32 half = ptx_half_of_f64(value);
    return half == 0x8000u ? 0 : half;
}

/* One number per column of B (8). Explicit vectors, since compilers do not vectorise loops of length 8. */
typedef s32 s32x8 __attribute__((vector_size(4 * PTX_CORE_COLUMNS), aligned(4), may_alias));
typedef u32 u32x8 __attribute__((vector_size(4 * PTX_CORE_COLUMNS), aligned(4), may_alias));

static inline __attribute__((always_inline)) void raise_to(s32x8 *to, const s32x8 *other) {
    const s32x8 more = *other > *to;
    *to = (*other & more) | (*to & ~more);
}

/* Adds `value` shifted left and then right; the right shift truncates toward zero. */
static inline __attribute__((always_inline)) void add_aligned(s32x8 *sum, const s32x8 *value, s32 left,
                                                              const s32x8 *right) {
    const s32x8 sign = *value<0, far = *right> 31, shift = (*right & ~far) | (31 & far);
    const u32x8 size = (u32x8)((*value ^ sign) - sign) << left >> (u32x8)shift;
    *sum += ((s32x8)size ^ sign) - sign;
}

/* Decodes the addends of a row, with 23 fraction bits. */
static inline __attribute__((always_inline)) void split_addends(bool half, const u32 *bits,
                                                                s32x8 *significand, s32x8 *exponent) {
    if (half) {
        for (unsigned n = 0; n < PTX_CORE_COLUMNS; n++) {
            s32 value, e;
            split(bits[n], 0, formats[PTX_CORE_F16], &value, &e);
            (*significand)[n] = value * (1 << (FRACTION_BITS_C - FRACTION_BITS));
            (*exponent)[n] = e;
        }
        return;
    }
    s32x8 x;
    memcpy(&x, bits, sizeof x);
    const s32x8 biased = x >> 23 & 255, fraction = x & 0x7fffff, minus = x < 0;
    const s32x8 subnormal = biased == 0, special = biased == 255, zero = subnormal & (fraction == 0);
    const s32x8 value = fraction | (~subnormal & 1 << 23), nan = special & (fraction != 0);
    const s32x8 e = ((biased - subnormal - 127) & ~zero & ~special) | (zero & EXPONENT_ZERO) |
                    (special & ~nan & EXPONENT_INFINITY);
    *exponent = e | (nan & EXPONENT_NAN);
    *significand = (value ^ minus) - minus;
}

/* One row of A times 8 columns of B. Eight products and the addend fit into 32 bits. */
static inline __attribute__((always_inline)) void row(ptx_core_step step, const s32 *sa, const s32 *ea,
                                                      const s32 *sb, const s32 *eb, u32 *d) {
    enum { N = PTX_CORE_COLUMNS, HALFWAY = 8 };
    const bool is_8bit = step.type == PTX_CORE_E4M3 || step.type == PTX_CORE_E5M2;
    const s32 fewer_bits = is_8bit ? KEPT_BITS - KEPT_BITS_8BIT : 0;
    const s32x8 *b_significand = (const s32x8 *)sb, *b_exponent = (const s32x8 *)eb;
    s32x8 sc = {0}, ec = {0}, top = {0}, low = {0}, high = {0}, e;
    split_addends(step.half, d, &sc, &ec);
    top += MIN_EXPONENT;
    raise_to(&top, &ec);
    for (unsigned k = 0; k < step.k; k++) {
        e = ea[k] + b_exponent[k];
        raise_to(&top, &e);
    }
    e = top - ec + fewer_bits;
    add_aligned(&low, &sc, KEPT_BITS - FRACTION_BITS_C, &e);
    for (unsigned k = 0; k < step.k; k++) {
        const s32x8 product = sa[k] * b_significand[k];
        e = top - (ea[k] + b_exponent[k]) + fewer_bits;
        add_aligned(k < HALFWAY ? &low : &high, &product, KEPT_BITS - 2 * FRACTION_BITS, &e);
    }
    for (unsigned n = 0; n < N; n++) {
        if (top[n] > MAX_FINITE_EXPONENT) {
            d[n] = special_sum(&step, sa, ea, sb + n, eb + n, sc[n], ec[n]);
            continue;
        }
        const f64 sum = scaled(low[n], high[n], top[n] - KEPT_BITS + fewer_bits);
        d[n] = step.half ? to_f16(sum) : to_f32(truncate_bits(sum, is_8bit ? KEPT_BITS_8BIT + 1 : 24));
    }
}

PTX_CLONES void ptx_core_multiply(ptx_core_step step, unsigned rows, const ptx_core_parts *a,
                                  const ptx_core_parts *b, uint32_t *d) {
    for (unsigned m = 0; m < rows; m++)
        row(step, a->significand + m * step.k, a->exponent + m * step.k, b->significand, b->exponent,
            d + m * PTX_CORE_COLUMNS);
}
