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
    GR_MATMUL_DEEP_COLUMNS = 16,    /* of a tile of matmul_deep, whose rows are GR_MATMUL_SMALL_ROWS */
    GR_MATMUL_DEEP_BYTES = 512,     /* along k of a step of matmul_deep */
    GR_MATMUL_DEEP_SLOT = 32768,    /* max. bytes of a step in shared memory */
    GR_MATMUL_DEEP_STAGES = 4,      /* steps in the ring; two more are arranged */
    GR_MATMUL_DEEP_SHARED = (2 + GR_MATMUL_DEEP_STAGES) * GR_MATMUL_DEEP_SLOT, /* bytes per block */
    GR_MATMUL_DEEP_THREADS = 384,                                              /* per block */
};

/* 16-byte loads of each row of A under way per lane of matmul_columns, for 2, 4 or 8 columns: eight loads of
   all rows of a warp. */
#define GR_MATMUL_COLUMNS_STEPS(columns) ((columns) / 2)

#endif
