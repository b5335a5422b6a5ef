/* Parameters of the kernels of weighted group sums and means. Read by C and CUDA. */
#ifndef GR_GROUPS_WEIGHTS_PARAMS_H
#define GR_GROUPS_WEIGHTS_PARAMS_H

#include <stdint.h>

enum { GR_WEIGHT_THREADS = 256 };

/* Multiplies elements by weights; the products are in C order. With two parts, each row of rounded products
   is followed by a row of their rounding errors, so that the sum of both is the exact product. */
typedef struct gr_products_params {
    uint64_t in;      /* address of elements, or 0: all are 1 */
    uint64_t weights; /* address */
    uint64_t out;     /* address */
    uint64_t lines, length, inner;
    int64_t in_strides[3], weight_strides[3]; /* elements: of lines, rows and columns */
} gr_products_params;

/* Divides one array by another, element by element. */
typedef struct gr_quotients_params {
    uint64_t dividends, divisors, out; /* addresses */
    uint64_t count;
} gr_quotients_params;

#endif
