/* What the kernels of matrix products are told: read by C and CUDA alike, so only plain types of fixed size.
 */
#ifndef GR_MATMUL_PARAMS_H
#define GR_MATMUL_PARAMS_H

#include <stdint.h>

enum { GR_MATMUL_STACKS = 4 }; /* dimensions of a stack, after neighbours that lie evenly are merged */

/* C = A B for every pair of matrices of two stacks, a pair in each of grid.y by grid.z. The rows of C lie
   side by side, and so do its matrices. */
typedef struct gr_matmul_params {
    uint64_t a, b, c;
    uint64_t m, n, k;                  /* A has m rows of k elements, B has k rows of n */
    int64_t a_row, b_row;              /* elements from one row to the next */
    uint64_t across;                   /* tiles of a row of C */
    uint64_t pairs;                    /* times `slices` */
    uint64_t stack[GR_MATMUL_STACKS];  /* lengths, the fastest first; 1 where there is none */
    int64_t a_stack[GR_MATMUL_STACKS]; /* elements from one matrix to the next, 0 where it is taken again */
    int64_t b_stack[GR_MATMUL_STACKS];
    int64_t a_column, b_column; /* elements from one element of a row to the next, of kernels that ask */
    uint64_t slices; /* of k, each with a C of its own, behind those of all pairs of the one before */
} gr_matmul_params;

/* The sum of such slices, of `count` elements each. */
typedef struct gr_matmul_sum_params {
    uint64_t from, to;
    uint64_t count, slices;
} gr_matmul_sum_params;

/* A tensor map, as the driver or the simulator has made it. */
typedef struct gr_matmul_map {
#ifdef __CUDACC__
    alignas(64)
#else
    _Alignas(64)
#endif
        uint64_t words[16];
} gr_matmul_map;

/* The same for kernels whose tiles the copy engine brings: maps of three dimensions (columns, rows,
   matrices). a_stack and b_stack count matrices of the maps; that of C is there where map_of_c says so. */
typedef struct gr_matmul_maps {
    gr_matmul_map a, b, c;
    gr_matmul_params product;
    uint64_t map_of_c;
} gr_matmul_maps;

/* float32 parted into two float16 each, the second being what the first leaves, after it was multiplied by a
   power of two of its row or column. A matrix in each of grid.y by grid.z: its big parts, and then its small
   ones. */
typedef struct gr_matmul_parts_params {
    uint64_t from, parts; /* float32, float16 */
    uint64_t scales;      /* float32: one divided by the power, of each row or column */
    uint64_t most;        /* uint32: the greatest magnitude in GR_MATMUL_SHARE rows, of each column */
    uint64_t rows, columns;
    int64_t row, matrix; /* elements from one to the next, of `from` */
    uint64_t pitch;      /* elements from one row of parts to the next: a multiple of 8 */
    uint64_t matrices;
} gr_matmul_parts_params;

/* The product of what was parted. The maps have twice as many matrices. */
typedef struct gr_matmul_halves {
    gr_matmul_maps maps;
    uint64_t a_scales, b_scales;
} gr_matmul_halves;

/* The product of a matrix and a vector, a pair in each of grid.y by grid.z. Of the matrix either the products
   of a result lie side by side, or the results do; `step` goes from a result to the next, or from a product.
 */
typedef struct gr_matmul_vector_params {
    uint64_t matrix, vector, out;
    uint64_t sums, tickets; /* results of each part; a counter for each tile of results, 0 before and after */
    uint64_t results, length;  /* how many, and of how many products each */
    int64_t step, vector_step; /* elements */
    uint64_t parts, part;      /* of the products, and how many there are in one */
    uint64_t lanes;            /* threads of a result, where products lie side by side: 32 or all */
    uint64_t pairs;
    uint64_t stack[GR_MATMUL_STACKS];
    int64_t matrix_stack[GR_MATMUL_STACKS];
    int64_t vector_stack[GR_MATMUL_STACKS];
} gr_matmul_vector_params;

enum {
    GR_MATMUL_OTHER_TILE = 64, /* rows and columns of C that a block makes, of the dtypes without a rung */
    GR_MATMUL_PACK_TILE = 32,  /* rows and columns that a block of a copy takes */
    GR_MATMUL_THREADS = 256,   /* of a block of either */
    GR_MATMUL_SUMS = 32,       /* elements that a block adds up over slices */
    GR_MATMUL_STEP = 16,       /* elements along k that a block of m9 or m10 takes at once */
    GR_MATMUL_SHARE = 32,      /* rows of which a block finds the greatest magnitudes */
    GR_MATMUL_PARTED = 16,     /* rows that a block parts, of 512 columns */
};

/* A copy of a stack of matrices, a matrix in each of grid.y by grid.z: the elements of a row go side by side.
 */
typedef struct gr_matmul_pack_params {
    uint64_t from, to;
    uint64_t rows, columns;
    int64_t row, column; /* elements from one to the next, down a column and along a row */
    uint64_t to_row;     /* elements from one row of the copy to the next */
    uint64_t across;     /* tiles of a row */
    uint64_t matrices;
    uint64_t stack[GR_MATMUL_STACKS];
    int64_t from_stack[GR_MATMUL_STACKS];
} gr_matmul_pack_params;

#endif
