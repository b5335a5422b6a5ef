/* Products of matrices: the rows of rungs.def, and the program of a call. */
#ifndef GR_MATMUL_MATMUL_H
#define GR_MATMUL_MATMUL_H

#include "base/dtypes.h"
#include "matmul/params.h"
#include "program/program.h"
#include "rungs/rung.h"

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
typedef enum gr_matmul_blocks { GR_MATMUL_TILES, GR_MATMUL_PERSISTENT } gr_matmul_blocks;

/* How products of float32 are made; the first is the default. */
typedef enum gr_precision {
    GR_PRECISION_IEEE,
    GR_PRECISION_TF32,
    GR_PRECISION_TF32X3,
    GR_PRECISION_F16X3,
    GR_PRECISIONS
} gr_precision;

extern const char *const gr_precisions[GR_PRECISIONS]; /* as `precision=` takes them */
bool gr_precision_find(const char *name, gr_precision *out);

typedef struct gr_matmul_variant {
    gr_rung rung;
    gr_matmul_set dtypes;
    gr_precision precision;
    uint32_t rows, columns; /* of the tile of C that a block makes */
    uint32_t threads;       /* of a block */
    uint32_t shared;        /* bytes of dynamic shared memory */
    gr_matmul_blocks blocks;
    uint32_t cluster;             /* blocks of one, whose tiles lie below one another */
    uint32_t a_box, b_box, c_box; /* rows of the boxes of tensor maps, 0 for none */
} gr_matmul_variant;

extern const gr_matmul_variant gr_matmul_variants[];
extern const size_t gr_matmul_variant_count;

/* Whether its PTX is for its compute capability alone: that of wgmma is, to which tensor maps belong. */
static inline bool gr_matmul_is_arch_specific(const gr_matmul_variant *variant) {
    return variant->a_box > 0;
}

/* GR_ERR_VALUE where the device cannot run it. */
gr_status gr_matmul_check(const gr_matmul_variant *variant, const gr_device_info *info, gr_error *error);

/* GR_ERR_VALUE lists the names. */
gr_status gr_matmul_find(const char *name, const gr_matmul_variant **out, gr_error *error);
/* Whether it has kernels for elements of this dtype. */
bool gr_matmul_supports_dtype(const gr_matmul_variant *variant, gr_dtype dtype);

/* Whether it makes products of float32 so. */
bool gr_matmul_supports_precision(const gr_matmul_variant *variant, gr_precision precision);

/* A matrix or a stack of them; strides in elements. */
typedef struct gr_matmul_view {
    int64_t row, column;             /* from a row to the next, from an element of a row to the next */
    int64_t stack[GR_MATMUL_STACKS]; /* from a matrix to the next, 0 where it is taken again */
    bool aligned;                    /* the first element lies on a boundary of 16 bytes */
} gr_matmul_view;

/* C = A B: A, of m rows and k columns, is input 0, B, of k rows and n columns, input 1. C lies in C order. */
typedef struct gr_matmul {
    const gr_matmul_variant *variant; /* NULL: the best one for this precision */
    gr_precision precision;
    gr_dtype dtype;
    uint64_t m, n, k;
    uint64_t stack[GR_MATMUL_STACKS]; /* lengths, the fastest first; 1 where there is none */
    gr_matmul_view a, b;
    bool out_aligned;            /* C begins on a boundary of 16 bytes */
    bool needs_temporary_output; /* C is put together elsewhere and copied, as it overlaps with A or B */
} gr_matmul;

/* How many elements C has. */
uint64_t gr_matmul_output_count(const gr_matmul *self);

/* The program of a product that has results: a pure function of its arguments. Sides that the rung does not
   take as they lie are copied first. */
gr_status gr_matmul_plan(const gr_matmul *self, const gr_device_info *info, gr_program *program,
                         gr_error *error);

/* For programs that a product is a part of, which say where its matrices are. */
typedef struct gr_matmul_operands {
    uint32_t a, b, c;
} gr_matmul_operands;

gr_status gr_matmul_append(const gr_matmul *self, const gr_device_info *info,
                           const gr_matmul_operands *operands, gr_program *program, gr_error *error);

/* Has a side copied to memory of the program, which takes the place of *buffer, `pitch` elements from one row
   to the next; what is taken again is copied once. */
typedef struct gr_matmul_shape {
    uint64_t rows, columns, pitch;
} gr_matmul_shape;

gr_status gr_matmul_pack_operand(gr_matmul_view *side, const gr_matmul_shape *shape, const uint64_t *stack,
                                 size_t item_bytes, uint32_t *buffer, gr_program *program, gr_error *error);

/* Appends a copy of the result, which lies in memory of the program, to the output. */
gr_status gr_matmul_copy_output(const gr_matmul *self, size_t item_bytes, uint32_t from, uint32_t out,
                                gr_program *program, gr_error *error);

/* Nothing is done where there are no results. */
gr_status gr_matmul_run(gr_device *device, const gr_matmul *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
