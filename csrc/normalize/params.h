/* Parameters of the kernels that normalize rows: softmax, log_softmax, rms_norm, layer_norm. Read by C and
   CUDA, so all types are plain and of fixed size. */
#ifndef GR_NORMALIZE_PARAMS_H
#define GR_NORMALIZE_PARAMS_H

#include <stdint.h>

enum {
    GR_NORMALIZE_MIN_THREADS = 4,    /* per row: lanes of a warp, of which several may have a row each */
    GR_NORMALIZE_MAX_THREADS = 512,  /* per row, or per tile of a long row */
    GR_NORMALIZE_ROW_BLOCK = 128,    /* threads of a block in which a warp has one row or several */
    GR_NORMALIZE_VECTORS = 4,        /* 16-byte vectors per thread, unless a row needs more */
    GR_NORMALIZE_MAX_VECTORS = 8,    /* max. vectors per thread; 4 of 16-bit elements are as many registers */
    GR_NORMALIZE_MAX_STAGES = 3,     /* max. rows or tiles of a block in shared memory */
    GR_NORMALIZE_SM_THREADS = 1024,  /* resident threads of a multiprocessor, by the registers of a kernel */
    GR_NORMALIZE_LANES = 8,          /* max. partial results of a long row: blocks of a portable cluster */
    GR_NORMALIZE_MAX_GRID = 1 << 30, /* max. blocks; further rows are handled in turn */
};

/* Rows of `length` elements. Row r is column r % inner of line r / inner. Results and the residual have C
   order: lines, elements, columns. */
typedef struct gr_normalize_params {
    uint64_t in;
    uint64_t out;
    uint64_t weight, bias; /* `length` contiguous elements, or 0 */
    uint64_t residual;     /* is added to the elements, and overwritten by the sums; or 0 */
    uint64_t rows, length, inner;
    int64_t line_stride, along_stride, inner_stride; /* in elements */
    double eps;
    uint32_t lanes;  /* partial results of a long row: tile t belongs to lane t % lanes */
    uint32_t ahead;  /* rows between the one that a block reduces and the one that it prefetches */
    uint32_t early;  /* not 0: blocks prefetch their first rows before the kernel before this one has ended */
    uint32_t stages; /* rows (pipelined) or tiles (resident) of a block in shared memory */
    uint32_t staged_parameters; /* not 0: a block has the weight and the bias in shared memory */
} gr_normalize_params;

#endif
