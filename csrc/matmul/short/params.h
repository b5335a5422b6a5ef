/* The parameters of the kernels of products with a short k or few columns; read by C and CUDA, as params.h.
 */
#ifndef GR_MATMUL_SHORT_PARAMS_H
#define GR_MATMUL_SHORT_PARAMS_H

#include "matmul/params.h"

/* A product with a short k (matmul_short): the threads of a block are 2^across_log2 along a row of C. */
typedef struct gr_matmul_short_params {
    gr_matmul_params product;
    uint64_t across_log2;
} gr_matmul_short_params;

/* A product with few columns (matmul_columns): parts of `part_length` elements along k, of which `slices` of
   `product` is the number and a block takes `rounds`; blocks of the same tile next to each other along x. */
typedef struct gr_matmul_columns_params {
    gr_matmul_params product;
    uint64_t part_length;
    uint64_t sums;    /* for each pair, tile and part the sums of a tile, float32 or float64; unused with one
                         part */
    uint64_t tickets; /* uint32 for each pair and tile: blocks that have finished; 0 before and after */
} gr_matmul_columns_params;

enum {
    GR_MATMUL_COLUMNS_PART = 1024,  /* elements along k of B in shared memory of matmul_columns; of float64
                                       half as  many */
    GR_MATMUL_COLUMNS_RESULTS = 16, /* elements of C per warp of matmul_columns */
    GR_MATMUL_DIRECT_BYTES = 256,   /* along k of a step of matmul_direct */
    /* Steps in the ring of matmul_direct, with tiles of 16 by 8, 16 by 32 or 32 by 16, 32 by 32, and 64
       by 64. */
    GR_MATMUL_DIRECT_STAGES_1 = 10,
    GR_MATMUL_DIRECT_STAGES_2 = 7,
    GR_MATMUL_DIRECT_STAGES_3 = 5,
    GR_MATMUL_DIRECT_STAGES_4 = 5,
};

/* 16-byte loads of each row of A under way per lane of matmul_columns, for 2, 4 or 8 columns: eight loads of
   all rows of a warp. */
#define GR_MATMUL_COLUMNS_STEPS(columns) ((columns) / 2)

#endif
