/* Inputs for matrix multiplication on tensor cores, shared by tests/gpu/tensor_cores.cu, which records a
   GPU's results, and the tests of the simulator. A case is determined by its form and number, so that only
   results are stored. */
#ifndef TENSOR_CASES_H
#define TENSOR_CASES_H

#include <stdbool.h>
#include <stdint.h>

/* ---- types ---- */

typedef enum tc_type { TC_F32, TC_TF32, TC_F16, TC_BF16, TC_E4M3, TC_E5M2 } tc_type;

/* `shift`: position of the element in its bits; a TF32 has 13 unused low bits. */
typedef struct tc_layout {
    int exponent_bits, fraction_bits, shift, bytes;
} tc_layout;

static inline tc_layout tc_layout_of(tc_type type) {
    static const tc_layout layouts[] = {{8, 23, 0, 4}, {8, 10, 13, 4}, {5, 10, 0, 2},
                                        {8, 7, 0, 2},  {4, 3, 0, 1},   {5, 2, 0, 1}};
    return layouts[type];
}

/* An instruction: `rows` x k times k x 8. */
typedef struct tc_form {
    const char *name;
    int rows, k;
    tc_type in, out;
    bool keeps; /* the addend is used */
    bool minus_a, minus_b;
} tc_form;

static const tc_form tc_forms[] = {
    {"mma.m16n8k4.f32.tf32.tf32.f32", 16, 4, TC_TF32, TC_F32, true, false, false},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 16, 8, TC_TF32, TC_F32, true, false, false},
    {"mma.m16n8k8.f32.bf16.bf16.f32", 16, 8, TC_BF16, TC_F32, true, false, false},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 16, 16, TC_BF16, TC_F32, true, false, false},
    {"mma.m16n8k8.f32.f16.f16.f32", 16, 8, TC_F16, TC_F32, true, false, false},
    {"mma.m16n8k16.f32.f16.f16.f32", 16, 16, TC_F16, TC_F32, true, false, false},
    {"mma.m16n8k8.f16.f16.f16.f16", 16, 8, TC_F16, TC_F16, true, false, false},
    {"mma.m16n8k16.f16.f16.f16.f16", 16, 16, TC_F16, TC_F16, true, false, false},
    {"wgmma.m64n8k8.f32.tf32.tf32", 64, 8, TC_TF32, TC_F32, true, false, false},
    {"wgmma.m64n8k16.f32.bf16.bf16", 64, 16, TC_BF16, TC_F32, true, false, false},
    {"wgmma.m64n8k16.f32.f16.f16", 64, 16, TC_F16, TC_F32, true, false, false},
    {"wgmma.m64n8k16.f16.f16.f16", 64, 16, TC_F16, TC_F16, true, false, false},
    {"wgmma.m64n8k32.f32.e4m3.e4m3", 64, 32, TC_E4M3, TC_F32, true, false, false},
    {"wgmma.m64n8k32.f32.e5m2.e5m2", 64, 32, TC_E5M2, TC_F32, true, false, false},
    {"wgmma.m64n8k32.f16.e4m3.e4m3", 64, 32, TC_E4M3, TC_F16, true, false, false},
    {"wgmma.m64n8k8.f32.tf32.tf32, no addend", 64, 8, TC_TF32, TC_F32, false, false, false},
    {"wgmma.m64n8k8.f32.tf32.tf32, -a", 64, 8, TC_TF32, TC_F32, true, true, false},
    {"wgmma.m64n8k8.f32.tf32.tf32, -b", 64, 8, TC_TF32, TC_F32, true, false, true},
    {"wgmma.m64n8k16.f32.bf16.bf16, -a -b", 64, 16, TC_BF16, TC_F32, true, true, true},
};
enum { TC_FORMS = sizeof tc_forms / sizeof tc_forms[0], TC_COLUMNS = 8, TC_MAX_ROWS = 64, TC_MAX_K = 32 };

/* The bits of all elements, row-major. */
typedef struct tc_inputs {
    uint32_t a[TC_MAX_ROWS * TC_MAX_K], b[TC_MAX_K * TC_COLUMNS], c[TC_MAX_ROWS * TC_COLUMNS];
} tc_inputs;

/* ---- random numbers ---- */

static inline uint32_t tc_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static inline int tc_between(uint64_t *state, int low, int high) {
    return low + (int)(tc_next(state) % (uint32_t)(high - low + 1));
}

static inline bool tc_one_in(uint64_t *state, uint32_t n) {
    return tc_next(state) % n == 0;
}

/* ---- elements ---- */

static inline int tc_bias(tc_type type) {
    return (1 << (tc_layout_of(type).exponent_bits - 1)) - 1;
}

/* The largest unbiased exponent of a finite number. */
static inline int tc_highest(tc_type type) {
    return type == TC_E4M3 ? 8 : tc_bias(type);
}

static inline uint32_t tc_number(tc_type type, bool minus, int exponent, uint32_t fraction) {
    const tc_layout l = tc_layout_of(type);
    const int bias = tc_bias(type), highest = tc_highest(type);
    const int biased = exponent > highest ? highest + bias : exponent < 1 - bias ? 0 : exponent + bias;
    fraction &= (1u << l.fraction_bits) - 1;
    if (type == TC_E4M3 && biased == 15 && fraction == 7)
        fraction = 6;
    return ((uint32_t)minus << (l.exponent_bits + l.fraction_bits) | (uint32_t)biased << l.fraction_bits |
            fraction)
           << l.shift;
}

static inline uint32_t tc_near(uint64_t *s, tc_type type, int low, int high) {
    const uint32_t bits = tc_next(s);
    return tc_number(type, bits >> 31, tc_between(s, low, high), bits);
}

static inline uint32_t tc_sign(tc_type type) {
    const tc_layout l = tc_layout_of(type);
    return 1u << (l.exponent_bits + l.fraction_bits + l.shift);
}

static inline uint32_t tc_any(uint64_t *s, tc_type type) {
    const tc_layout l = tc_layout_of(type);
    const int bits = 1 + l.exponent_bits + l.fraction_bits;
    return (tc_next(s) >> (32 - bits)) << l.shift;
}

static inline uint32_t tc_finite(uint64_t *s, tc_type type) {
    return tc_near(s, type, -tc_bias(type), tc_highest(type));
}

/* Zeros, infinities, NaNs, and the limits of the subnormal and normal ranges. */
static inline uint32_t tc_special(uint64_t *s, tc_type type) {
    const tc_layout l = tc_layout_of(type);
    const uint32_t one = 1u << l.shift, top = 1u << (l.fraction_bits - 1 + l.shift);
    const uint32_t infinity = ((1u << l.exponent_bits) - 1) << (l.fraction_bits + l.shift);
    const uint32_t normal = 1u << (l.fraction_bits + l.shift);
    const uint32_t special[] = {0,
                                0,
                                infinity,
                                infinity,
                                infinity | top,
                                infinity | one,
                                infinity | top | one,
                                one,
                                normal - one,
                                normal,
                                infinity - one,
                                tc_number(type, false, tc_highest(type), ~0u)};
    const uint32_t sign = tc_one_in(s, 2) ? tc_sign(type) : 0;
    return sign | special[tc_next(s) % (sizeof special / sizeof special[0])];
}

/* ---- cases ---- */

enum { TC_KINDS = 15 };

static inline uint32_t tc_zero_or(uint64_t *s, tc_type type, uint32_t n, uint32_t other) {
    return tc_one_in(s, n) ? other : tc_one_in(s, 2) ? tc_sign(type) : 0;
}

/* One, one plus an ulp, or two minus an ulp, times a power of two. */
static inline uint32_t tc_edge(uint64_t *s, tc_type type, int low, int high) {
    const uint32_t fractions[] = {0, 0, 1, ~0u};
    const bool minus = tc_one_in(s, 2);
    const int exponent = tc_between(s, low, high);
    return tc_number(type, minus, exponent, fractions[tc_next(s) % 4]);
}

/* Exponents of A's columns and B's rows whose sums are within `spread` of `sum`. */
static inline void tc_split(uint64_t *s, const tc_form *f, int sum, int spread, tc_inputs *in) {
    for (int k = 0; k < f->k; k++) {
        const int high = tc_highest(f->in), low = 1 - tc_bias(f->in), mine = sum + tc_between(s, -spread, 0);
        const int from = mine - high > low ? mine - high : low, to = mine - low < high ? mine - low : high;
        const int ea = from <= to ? tc_between(s, from, to) : from, eb = mine - ea;
        for (int m = 0; m < f->rows; m++)
            in->a[m * f->k + k] = tc_near(s, f->in, ea, ea);
        for (int n = 0; n < TC_COLUMNS; n++)
            in->b[k * TC_COLUMNS + n] = tc_near(s, f->in, eb - 1, eb);
    }
}

/* Pairs of products that cancel, and others that are small compared with them. */
static inline void tc_cancel(uint64_t *s, const tc_form *f, tc_inputs *in) {
    const int small = tc_between(s, -30, 0), pairs = tc_between(s, 1, f->k / 2),
              first = tc_between(s, 0, f->k - 1);
    for (int j = 0; j < f->k; j++) {
        const int k = (first + j) % f->k, partner = (k + f->k - 1) % f->k,
                  range = j < 2 * pairs ? 0 : small / 2;
        const bool second = j < 2 * pairs && j % 2;
        for (int m = 0; m < f->rows; m++)
            in->a[m * f->k + k] = second ? in->a[m * f->k + partner] : tc_near(s, f->in, range - 1, range);
        for (int n = 0; n < TC_COLUMNS; n++)
            in->b[k * TC_COLUMNS + n] = second ? in->b[partner * TC_COLUMNS + n] ^ tc_sign(f->in)
                                               : tc_near(s, f->in, range - 1, range);
    }
}

static inline void tc_all(uint64_t *s, const tc_form *f, int kind, tc_inputs *in) {
    const int low = -tc_bias(f->in), high = tc_highest(f->in), wide = high < 12 ? high : 12;
    const int step = tc_between(s, 1, 8);
    for (int i = 0; i < (f->rows + TC_COLUMNS) * f->k; i++) {
        const bool in_a = i < f->rows * f->k;
        const int j = i - f->rows * f->k, k = in_a ? i % f->k : j / TC_COLUMNS;
        uint32_t x = tc_near(s, f->in, -2, 1);
        switch (kind) {
        case 1:
            x = tc_near(s, f->in, -wide, wide);
            break;
        case 2:
            x = tc_any(s, f->in);
            break;
        case 3:
            x = tc_finite(s, f->in);
            break;
        case 4:
            x = (in_a ? k % 2 : k % 2 == 0) ? tc_near(s, f->in, low, low + 2)
                                            : tc_near(s, f->in, high - 30, high);
            break;
        case 8:
            x = tc_one_in(s, 16) ? tc_special(s, f->in) : x;
            break;
        case 9:
            x = tc_zero_or(s, f->in, in_a ? 1000 : 4, tc_finite(s, f->in));
            break;
        case 10:
            x = in_a ? tc_zero_or(s, f->in, 4, x) : tc_near(s, f->in, -wide, wide);
            break;
        case 11:
            x = tc_near(s, f->in, -step * k / 2, -step * k / 2 + 1);
            break;
        case 12:
            x = tc_edge(s, f->in, -1, 1);
            break;
        case 13:
            x = k == step % f->k && tc_one_in(s, 3) ? tc_special(s, f->in) : x;
            break;
        default:
            break;
        }
        if (in_a)
            in->a[i] = x;
        else
            in->b[j] = x;
    }
}

static inline uint32_t tc_addend(uint64_t *s, const tc_form *f, int kind) {
    const int low = -tc_bias(f->out), high = tc_highest(f->out);
    switch (kind) {
    case 1:
        return tc_near(s, f->out, -24, 24);
    case 2:
        return tc_any(s, f->out);
    case 3:
        return tc_finite(s, f->out);
    case 4:
        return tc_near(s, f->out, low / 4, 30);
    case 5:
        return tc_near(s, f->out, low, low + 8);
    case 6:
        return tc_near(s, f->out, high - 4, high);
    case 7:
        return tc_near(s, f->out, -40, -2);
    case 8:
        return tc_one_in(s, 4) ? tc_special(s, f->out) : tc_near(s, f->out, -2, 2);
    case 9:
    case 14:
        return tc_zero_or(s, f->out, 1000, 0);
    case 10:
        return tc_near(s, f->out, -30, 30);
    case 11:
        return tc_near(s, f->out, -30, 4);
    case 12:
        return tc_edge(s, f->out, -3, 3);
    case 13:
        return tc_one_in(s, 8) ? tc_special(s, f->out) : tc_near(s, f->out, -2, 2);
    default:
        return tc_near(s, f->out, -4, 3);
    }
}

/* The kind changes from number to number; after a round of all kinds the unused low bits of TF32 are
   filled. */
static inline void tc_case(int form, uint32_t number, tc_inputs *in) {
    const tc_form *f = &tc_forms[form];
    const int kind = (int)(number % TC_KINDS);
    uint64_t state = ((uint64_t)(form + 1) << 32 | number) * 0x2545f4914f6cdd1du, *s = &state;
    tc_next(s);
    if (kind == 5 || kind == 14)
        tc_split(s, f, kind == 5 ? -126 + tc_between(s, -20, 8) : -126 - tc_between(s, 0, 26), 3, in);
    else if (kind == 6)
        tc_split(s, f, tc_between(s, 122, 130), 3, in);
    else if (kind == 7)
        tc_cancel(s, f, in);
    else
        tc_all(s, f, kind, in);
    for (int i = 0; i < f->rows * TC_COLUMNS; i++)
        in->c[i] = tc_addend(s, f, kind);
    if (f->in == TC_TF32 && number / TC_KINDS % 2) {
        for (int i = 0; i < f->rows * f->k; i++)
            in->a[i] |= tc_next(s) >> 19;
        for (int i = 0; i < f->k * TC_COLUMNS; i++)
            in->b[i] |= tc_next(s) >> 19;
    }
}

/* Hash of a sequence of results. */
static inline uint64_t tc_hash(uint64_t hash, uint32_t result) {
    return (hash ^ result) * 0x100000001b3u + (hash >> 47);
}

enum { TC_CHUNK = 8 * TC_KINDS }; /* cases that share one hash */

#endif
