/* The parameters of matrix-multiplication kernels: one struct per kernel family, passed by value as a
   __grid_constant__. C and CUDA read this file, so that it has only plain types of fixed size. A uint64_t
   named after a matrix or a buffer is a device address; strides are in elements. */
#ifndef GR_MATMUL_PARAMS_H
#define GR_MATMUL_PARAMS_H

#include <stdint.h>

enum { GR_MATMUL_STACKS = 4 }; /* batch dimensions, after those with a common stride are merged */

/* C = A B for every pair of matrices of two stacks (batched GEMM); grid.y * grid.z counts the pairs. C is
   contiguous in C order. */
typedef struct gr_matmul_params {
    uint64_t a, b, c;
    uint64_t m, n, k;                  /* A is m x k, B is k x n */
    int64_t a_row, b_row;              /* strides between rows */
    uint64_t n_tiles;                  /* tiles of C along n */
    uint64_t pairs;                    /* pairs of matrices times `slices` */
    uint64_t stack[GR_MATMUL_STACKS];  /* lengths of the batch dimensions, the fastest first; 1 if unused */
    int64_t a_stack[GR_MATMUL_STACKS]; /* strides between matrices; 0 for a broadcast dimension */
    int64_t b_stack[GR_MATMUL_STACKS];
    int64_t a_column, b_column; /* strides within a row; only kernels named `_any` read them */
    uint64_t slices; /* split-K: slices of k, each with its own C for all pairs, one after the other */
    uint64_t rounds; /* parts of k that a block takes one after the other; only kernels named `_rounds`, small
                        tiles and t5 read it */
} gr_matmul_params;

/* The reduction of split-K: `to` = the sum of `slices` arrays of `count` elements at `from`. */
typedef struct gr_matmul_add_slices_params {
    uint64_t from, to;
    uint64_t count, slices;
} gr_matmul_add_slices_params;

/* A small product (matmul_direct, matmul_small): `slices` parts of k, of whole 128 bytes, the first ones with
   128 bytes more, of which a block takes `rounds`; blocks of the same tile next to each other along x. */
typedef struct gr_matmul_small_params {
    gr_matmul_params product;
    uint64_t sums;    /* for each pair, tile and slice the sums of a tile, float32 or float64; unused with one
                         slice */
    uint64_t tickets; /* uint32 for each pair and tile: blocks that have finished; 0 before and after */
} gr_matmul_small_params;

/* A CUtensorMap (TMA descriptor): 128 bytes, encoded by the CUDA driver or by the simulator. */
typedef struct gr_matmul_tensor_map {
#ifdef __CUDACC__
    alignas(64)
#else
    _Alignas(64)
#endif
        uint64_t words[16];
} gr_matmul_tensor_map;

/* Kernels that load tiles by TMA (t1 to t5). The tensor maps have three dimensions: columns, rows, matrices;
   a_stack and b_stack of `product` count matrices of the maps. The map of C is valid if stores_c_by_tma. */
typedef struct gr_matmul_tma_params {
    gr_matmul_tensor_map a, b, c;
    gr_matmul_params product;
    uint64_t stores_c_by_tma;
    uint64_t a_box; /* rows of the boxes of A, which t3 reads: fewer than a tile has if A has fewer */
} gr_matmul_tma_params;

/* Splits float32 x into two float16 for F16X3: scaled x = high + low, where the scale is a power of two per
   row or per column. grid.y * grid.z counts the matrices; each has its high parts and then its low parts. */
typedef struct gr_matmul_split_params {
    uint64_t from, hi_lo; /* float32, float16 */
    uint64_t scales;      /* float32: the reciprocal of the scale of each row or column */
    uint64_t maxima;      /* uint32: the largest magnitude in GR_MATMUL_MAXIMA_ROWS rows, of each column */
    uint64_t rows, columns;
    int64_t row, matrix; /* strides of `from` between rows and between matrices */
    uint64_t pitch;      /* elements from one row of hi_lo to the next: a multiple of 8 */
    uint64_t matrices;
} gr_matmul_split_params;

/* The product of two operands that were split (t4). The maps have twice as many matrices. */
typedef struct gr_matmul_f16x3_params {
    gr_matmul_tma_params maps;
    uint64_t a_scales, b_scales; /* float32, as gr_matmul_split_params leaves them */
} gr_matmul_f16x3_params;

/* Matrix-vector product (GEMV); grid.y * grid.z counts the pairs. A line of the matrix, a contiguous row or
   column, has either the factors of one result or one factor of each result. */
typedef struct gr_matmul_gemv_params {
    uint64_t matrix, vector, out;
    uint64_t sums;    /* partial sums: `results` for each slice */
    uint64_t tickets; /* uint32 for each tile of results: blocks that have finished; 0 before and after */
    uint64_t results, length; /* results per pair, factors per result (k) */
    int64_t line_stride, vector_stride;
    uint64_t slices, slice_length; /* split-K: slices of k, factors per slice */
    uint64_t threads_per_result;   /* 32 or the whole block, where a line has the factors of one result */
    uint64_t pairs;
    uint64_t
        stack[GR_MATMUL_STACKS]; /* lengths and strides of the batch dimensions, as in gr_matmul_params */
    int64_t matrix_stack[GR_MATMUL_STACKS];
    int64_t vector_stack[GR_MATMUL_STACKS];
} gr_matmul_gemv_params;

enum {
    GR_MATMUL_OTHER_TILE = 64,      /* rows and columns of C per block, of dtypes without a rung */
    GR_MATMUL_PACK_TILE = 32,       /* rows and columns per block of a copy */
    GR_MATMUL_THREADS = 256,        /* per block of the two kernels above and of those below */
    GR_MATMUL_ADD_SLICES_TILE = 32, /* elements per block that adds up split-K slices */
    GR_MATMUL_TILE_K = 16,          /* elements along k per tile of m9 and m10 */
    GR_MATMUL_SMALL_ROWS = 32,      /* rows of C per block of matmul_small */
    GR_MATMUL_FEW_ROWS = 8,         /* rows of the smallest tiles of m10, whose kernels take any A */
    GR_MATMUL_MAXIMA_ROWS = 32,     /* rows per block that finds the largest magnitudes of columns */
    GR_MATMUL_SPLIT_ROWS = 16,      /* rows per block that splits, by 512 columns */
};

/* Bytes of dynamic shared memory per block, by kernel, as rungs.def and tensor_maps.c request them. A
   static_assert in each kernel holds them to what it uses. */
enum {
    GR_MATMUL_T0_SHARED = 107520,
    GR_MATMUL_T1_SHARED = 196672,
    GR_MATMUL_T1_LOW_SHARED = 196736,
    GR_MATMUL_T2_SHARED = 196704,
    GR_MATMUL_T3_SHARED = 213040,
    GR_MATMUL_T3_NARROW_SHARED = 163936,
    GR_MATMUL_T4_SHARED = 196656,
    GR_MATMUL_T5_SHARED = 196704, /* of float64; complex128 uses 32 bytes less */
    GR_MATMUL_T5_MID_SHARED = 196736,
    GR_MATMUL_T5_LOW_SHARED = 213120,
    GR_MATMUL_T5_LEAST_SHARED = 159840,
    GR_MATMUL_T5_LOW_C128_SHARED = 229440,
    GR_MATMUL_T5_LEAST_C128_SHARED = 172080,
};

/* Copies a stack of matrices to rows of contiguous elements; grid.y * grid.z counts the matrices. */
typedef struct gr_matmul_pack_params {
    uint64_t from, to;
    uint64_t rows, columns;
    int64_t row, column;   /* strides of `from` between rows and within a row */
    uint64_t to_pitch;     /* elements from one row of `to` to the next */
    uint64_t column_tiles; /* tiles per row */
    uint64_t matrices;
    uint64_t stack[GR_MATMUL_STACKS];
    int64_t
        from_stack[GR_MATMUL_STACKS]; /* strides of `from` between matrices; 0 for a broadcast dimension */
} gr_matmul_pack_params;

#endif
