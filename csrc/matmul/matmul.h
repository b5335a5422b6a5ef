/* Matrix multiplication (batched GEMM): the table of rungs (rungs.def), the description of one call, its run,
   and functions by which other planners append a product to their program (im2col, Winograd). */
#ifndef GR_MATMUL_MATMUL_H
#define GR_MATMUL_MATMUL_H

#include "base/dtypes.h"
#include "matmul/params.h"
#include "program/program.h"
#include "rungs/rung.h"

/* ---- rungs ---- */

/* The dtypes of a rung; rungs.def says which these are. */
typedef enum gr_matmul_set {
    GR_MATMUL_FOUR,
    GR_MATMUL_F32,
    GR_MATMUL_SINGLES,
    GR_MATMUL_DOUBLES,
    GR_MATMUL_HALVES,
    GR_MATMUL_TENSOR_CORES,
    GR_MATMUL_LIBRARY,
    GR_MATMUL_SETS
} gr_matmul_set;

/* TILES: one thread block per tile of C; PERSISTENT: at most one block per SM, which loops over tiles. */
typedef enum gr_matmul_blocks { GR_MATMUL_TILES, GR_MATMUL_PERSISTENT } gr_matmul_blocks;

/* How float32 is multiplied; rungs.def says what each means. The first is the default. */
typedef enum gr_precision {
    GR_PRECISION_IEEE,
    GR_PRECISION_TF32,
    GR_PRECISION_TF32X3,
    GR_PRECISION_F16X3,
    GR_PRECISIONS
} gr_precision;

extern const char *const gr_precisions[GR_PRECISIONS]; /* as `precision=` takes them */
/* Finds a precision by its name. False if there is none. */
bool gr_precision_find(const char *name, gr_precision *out);

typedef struct gr_matmul_variant {
    gr_rung rung;
    gr_matmul_set dtypes;
    gr_precision precision;
    uint32_t rows, columns; /* of the tile of C per thread block; 0: tiles.def has the tile shapes */
    uint32_t threads;       /* per block, at most */
    uint32_t shared;        /* bytes of dynamic shared memory */
    gr_matmul_blocks blocks;
    uint32_t cluster;             /* thread blocks per cluster, whose tiles are neighbours along m */
    uint32_t a_box, b_box, c_box; /* rows of the TMA boxes; 0: the kernel uses addresses instead */
} gr_matmul_variant;

extern const gr_matmul_variant gr_matmul_variants[];
extern const gr_ladder gr_matmul_ladder;

/* Returns whether the PTX of the rung runs on one compute capability alone: sm_90a, because of wgmma. */
static inline bool gr_matmul_is_arch_specific(const gr_matmul_variant *variant) {
    return variant->a_box > 0;
}

bool gr_matmul_supports_dtype(const gr_matmul_variant *variant, gr_dtype dtype);
bool gr_matmul_supports_precision(const gr_matmul_variant *variant, gr_precision precision);

/* ---- a call ---- */

/* The memory layout of A or B: a matrix or a stack of them. Strides are in elements. */
typedef struct gr_matmul_view {
    int64_t row, column;             /* strides between rows and within a row */
    int64_t stack[GR_MATMUL_STACKS]; /* strides between matrices; 0 for a broadcast dimension */
    bool aligned;                    /* the first element is 16-byte aligned */
} gr_matmul_view;

/* C = A B, where A (m x k) is input 0 and B (k x n) is input 1. C is in C order. */
typedef struct gr_matmul {
    const gr_matmul_variant *variant; /* NULL: the fastest for this precision */
    gr_precision precision;
    gr_dtype dtype;
    uint64_t m, n, k;
    uint64_t stack[GR_MATMUL_STACKS]; /* lengths of the batch dimensions, the fastest first; 1 if unused */
    gr_matmul_view a, b;
    bool batch_invariant; /* with variant NULL: an element of C has the same bits for every m and stack */
    bool has_one_part;    /* k of halves and float32 is not divided into parts */
    bool b_is_k_major;    /* set by the planner: the kernel reads B as n rows of k elements */
    bool out_aligned;     /* C is 16-byte aligned */
    bool needs_temporary_output; /* C overlaps A or B: compute in a temporary, then copy */
} gr_matmul;

/* Returns the number of elements of C. */
uint64_t gr_matmul_output_count(const gr_matmul *self);

/* Plans and runs a product; does nothing if C is empty. */
gr_status gr_matmul_run(gr_device *device, const gr_matmul *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

/* ---- products within other programs ---- */

/* Where a product is appended: the device, and the buffers of a program that hold A, B and C. */
typedef struct gr_matmul_job {
    const gr_device_info *info;
    gr_program *program;
    uint32_t a, b, c;
} gr_matmul_job;

/* Appends the launches of a product, and copies of operands whose layout the kernel does not take. */
void gr_matmul_append(const gr_matmul *self, gr_matmul_job job);

/* The order in which a product with `batch_invariant` adds up an element of C. */
typedef enum gr_matmul_order {
    GR_MATMUL_ORDER_FMA,     /* fused multiply-adds of float32 in the order of k */
    GR_MATMUL_ORDER_K_STEPS, /* k-steps of tensor cores in the order of k */
    GR_MATMUL_ORDER_OTHER
} gr_matmul_order;

/* Returns the order of a product, which follows from n, k, the dtype and the precision. */
gr_matmul_order gr_matmul_order_of(const gr_matmul *self, const gr_device_info *info);

/* Returns the estimated microseconds of a product of halves, float32 or TF32 on the reference device; 0: its
   kernel has no estimate. */
double gr_matmul_estimate_time(const gr_matmul *self);

/* Returns the time of `blocks` resident blocks of a tile shape, in units of one block at the full rate of an
   SM. `percent` of that rate are reached by 1, 2, 4 and 8 resident blocks. */
enum { GR_MATMUL_RATES = 4 };
double gr_matmul_wave(const uint32_t percent[GR_MATMUL_RATES], uint64_t blocks);

/* The shape of a packed copy; `pitch` is its row stride in elements. */
typedef struct gr_matmul_shape {
    uint64_t rows, columns, pitch;
} gr_matmul_shape;

/* Appends a copy of an operand to a temporary with contiguous rows; *view and *buffer then describe the copy.
   Broadcast dimensions are copied once. */
void gr_matmul_pack_operand(gr_matmul_view *view, const gr_matmul_shape *shape, const uint64_t *stack,
                            size_t item_bytes, uint32_t *buffer, gr_program *program);

/* Appends a copy of a result in C order, whose rows have `columns` elements, from a temporary to the output.
 */
void gr_matmul_copy_output(uint64_t count, uint64_t columns, size_t item_bytes, uint32_t from, uint32_t out,
                           gr_program *program);

/* Opens cuBLAS, which the rung `cublas` calls for comparison with the ladder: $GPUREDUCE_LIBCUBLAS, else
   libcublas.so of a supported version as the dynamic linker finds it, unless the process has it already.
   GR_ERR_VALUE says what was looked for. */
gr_status gr_cublas_open(gr_error *error);

#endif
