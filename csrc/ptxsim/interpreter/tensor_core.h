/* The arithmetic of tensor cores, bit for bit as an H200's. */
#ifndef PTXSIM_TENSOR_CORE_H
#define PTXSIM_TENSOR_CORE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ptx_core_type {
    PTX_CORE_TF32,
    PTX_CORE_F16,
    PTX_CORE_BF16,
    PTX_CORE_E4M3,
    PTX_CORE_E5M2
} ptx_core_type;

enum {
    PTX_CORE_COLUMNS = 8, /* of B, which are computed at once */
    PTX_CORE_K = 32,      /* the most products of a step */
    PTX_CORE_ROWS = 16,
    PTX_CORE_ELEMENTS = PTX_CORE_ROWS * PTX_CORE_K
};

/* A step's kind. A tf32 lies in the upper bits of 32; the others fill theirs. */
typedef struct ptx_core_step {
    ptx_core_type type;
    bool half; /* C and D are f16, not f32 */
    unsigned k;
} ptx_core_step;

/* Elements taken apart: a number is significand * 2^(exponent - 10), and the exponents of zeros, infinities
   and NaNs are far from all others. */
typedef struct ptx_core_parts {
    int32_t significand[PTX_CORE_ELEMENTS], exponent[PTX_CORE_ELEMENTS];
} ptx_core_parts;

/* Takes `count` elements apart, a multiple of 8; `minus` changes their signs. */
void ptx_core_split(ptx_core_type type, const uint32_t *bits, unsigned count, bool minus,
                    ptx_core_parts *parts);

/* D = A B + C for `rows` rows of A and 8 columns of B, both row by row; `d` holds the bits of C before. */
void ptx_core_multiply(ptx_core_step step, unsigned rows, const ptx_core_parts *a, const ptx_core_parts *b,
                       uint32_t *d);

#endif
