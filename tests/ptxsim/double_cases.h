/* Inputs for f64 matrix multiplication (mma), as tensor_cases.h has them for the other types. */
#ifndef DOUBLE_CASES_H
#define DOUBLE_CASES_H

#include "tensor_cases.h"

/* An instruction: `rows` x k times k x 8. */
typedef struct dc_form {
    const char *name;
    int rows, k;
} dc_form;

static const dc_form dc_forms[] = {
    {"mma.m8n8k4.f64.f64.f64.f64", 8, 4},
    {"mma.m16n8k4.f64.f64.f64.f64", 16, 4},
    {"mma.m16n8k8.f64.f64.f64.f64", 16, 8},
    {"mma.m16n8k16.f64.f64.f64.f64", 16, 16},
};
enum {
    DC_FORMS = sizeof dc_forms / sizeof dc_forms[0],
    DC_ROWS = 16,
    DC_K = 16,
    DC_KINDS = 12,
    DC_CHUNK = 8 * DC_KINDS, /* cases that share one hash */
};

/* The bits of all elements, row-major. */
typedef struct dc_inputs {
    uint64_t a[DC_ROWS * DC_K], b[DC_K * TC_COLUMNS], c[DC_ROWS * TC_COLUMNS];
} dc_inputs;

static inline uint64_t dc_any(uint64_t *s) {
    const uint64_t high = tc_next(s);
    return high << 32 | tc_next(s);
}

/* A number of either sign with an exponent in this range; below -1022 it is subnormal. */
static inline uint64_t dc_near(uint64_t *s, int low, int high) {
    const int exponent = tc_between(s, low, high);
    const uint64_t biased = exponent < -1022 ? 0 : exponent > 1023 ? 2046 : (uint64_t)(exponent + 1023);
    return (dc_any(s) & 0x800fffffffffffffu) | biased << 52;
}

/* Numbers with few bits, whose products and sums are often half way between two representable numbers. */
static inline uint64_t dc_edge(uint64_t *s, int low, int high) {
    const uint64_t fractions[] = {0, 0, 1, 0xfffffffffffffu, 0x8000000000000u};
    const uint64_t x = dc_near(s, low, high);
    return (x & 0xfff0000000000000u) | fractions[tc_next(s) % 5];
}

/* Zeros, infinities, NaNs, and the limits of the subnormal and normal ranges. */
static inline uint64_t dc_special(uint64_t *s) {
    const uint64_t infinity = 0x7ff0000000000000u, normal = 0x0010000000000000u,
                   nan = infinity | (dc_any(s) >> 12) | 1;
    const uint64_t special[] = {
        0,          0,      0x3ff0000000000000u, infinity, nan, nan | 0x0008000000000000u, 1,
        normal - 1, normal, infinity - 1};
    const uint64_t sign = (uint64_t)tc_one_in(s, 2) << 63;
    return sign | special[tc_next(s) % 10];
}

static inline uint64_t dc_element(uint64_t *s, int kind, bool addend) {
    const uint64_t usual = dc_near(s, -2, 1), special = dc_special(s);
    switch (kind) {
    case 1:
        return dc_near(s, -40, 40);
    case 2:
        return dc_any(s);
    case 3:
        return special;
    case 4: /* subnormal results, or nearly */
        return addend ? dc_near(s, -1030, -1010) : dc_near(s, -520, -500);
    case 5:
        return addend ? dc_near(s, -1074, -1000) : dc_near(s, -560, -480);
    case 6: /* intermediate sums overflow */
        return addend ? dc_near(s, 1022, 1023) : dc_near(s, 509, 511);
    case 7:
        return addend ? dc_edge(s, 0, 54) : dc_edge(s, -1, 1);
    case 8:
        return tc_one_in(s, 3) ? usual : (uint64_t)tc_one_in(s, 2) << 63;
    case 9:
        return tc_one_in(s, 8) ? special : usual;
    case 10:
        return dc_edge(s, -30, 30);
    default:
        return usual;
    }
}

/* In the last kind, neighbours along k cancel, and the remainder is small compared with them. */
static inline void dc_cancel(uint64_t *s, const dc_form *f, dc_inputs *in) {
    for (int k = 1; k < f->k; k++) {
        if (tc_one_in(s, 3))
            continue;
        for (int m = 0; m < f->rows; m++)
            in->a[m * f->k + k] = in->a[m * f->k + k - 1];
        for (int n = 0; n < TC_COLUMNS; n++)
            in->b[k * TC_COLUMNS + n] = in->b[(k - 1) * TC_COLUMNS + n] ^ (uint64_t)1 << 63;
    }
}

static inline void dc_case(int form, uint32_t number, dc_inputs *in) {
    const dc_form *f = &dc_forms[form];
    const int kind = (int)(number % DC_KINDS);
    uint64_t state = (uint64_t)form << 48 ^ number;
    for (int i = 0; i < f->rows * f->k; i++)
        in->a[i] = dc_element(&state, kind, false);
    for (int i = 0; i < f->k * TC_COLUMNS; i++)
        in->b[i] = dc_element(&state, kind, false);
    for (int i = 0; i < f->rows * TC_COLUMNS; i++)
        in->c[i] = dc_element(&state, kind, true);
    if (kind == DC_KINDS - 1)
        dc_cancel(&state, f, in);
}

static inline uint64_t dc_hash(uint64_t hash, uint64_t result) {
    return tc_hash(tc_hash(hash, (uint32_t)result), (uint32_t)(result >> 32));
}

#endif
