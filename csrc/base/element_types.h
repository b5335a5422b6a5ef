/* The element types of dtypes.def as the host stores them. Kernels have their own in
 * common/element_types.cuh. */
#ifndef GR_BASE_ELEMENT_TYPES_H
#define GR_BASE_ELEMENT_TYPES_H

#include <stdint.h>

typedef uint8_t gr_bool;
typedef uint16_t gr_f16;
typedef uint16_t gr_bf16;
typedef struct gr_c64 {
    float re, im;
} gr_c64;
typedef struct gr_c128 {
    double re, im;
} gr_c128;

#endif
