/* Arithmetic of tensor cores, bit-identical to an H200. */
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
    PTX_CORE_COLUMNS = 8, /* columns of B that are computed together */
    PTX_CORE_K = 32,      /* maximal number of products per step */
    PTX_CORE_ROWS = 16,
    PTX_CORE_ELEMENTS = PTX_CORE_ROWS * PTX_CORE_K
};

/* Operand types of a step. TF32 values are in the upper bits of 32; the other types have no padding. */
typedef struct ptx_core_step {
    ptx_core_type type;
    bool half; /* C and D are f16 instead of f32 */
    unsigned k;
} ptx_core_step;

/* Decoded elements: value = significand * 2^(exponent - 10). Zeros, infinities and NaNs have exponents
   outside the range of finite values. */
typedef struct ptx_core_parts {
    int32_t significand[PTX_CORE_ELEMENTS], exponent[PTX_CORE_ELEMENTS];
} ptx_core_parts;

/* Decodes `count` elements, a multiple of 8; `minus` negates them. */
void ptx_core_split(ptx_core_type type, const uint32_t *bits, unsigned count, bool minus,
                    ptx_core_parts *parts);

/* D = A B + C for `rows` rows of A and 8 columns of B, both row-major; `d` contains the bits of C on
   entry. */
void ptx_core_multiply(ptx_core_step step, unsigned rows, const ptx_core_parts *a, const ptx_core_parts *b,
                       uint32_t *d);

#endif
