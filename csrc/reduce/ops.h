/* The rows of ops.def, more_ops.def and float_ops.def as C data. */
#ifndef GR_REDUCE_OPS_H
#define GR_REDUCE_OPS_H

#include "base/dtypes.h"

typedef enum gr_op {
#define GR_OP_ENUM(name, ...) GR_OP_##name,
#include "reduce/float_ops.def"
#include "reduce/more_ops.def"
#include "reduce/ops.def"
    GR_OPS(GR_OP_ENUM, ) GR_MORE_OPS(GR_OP_ENUM, ) GR_FLOAT_OPS(GR_OP_ENUM, ) GR_OP_COUNT
#undef GR_OP_ENUM
} gr_op;

typedef enum gr_takes {
    GR_TAKES_ALL,
    GR_TAKES_BITS,
    GR_TAKES_FLOATS,
    GR_TAKES_REALS,
    GR_TAKES_PAIR
} gr_takes;
typedef enum gr_result {
    GR_RESULT_SAME,
    GR_RESULT_SUM,
    GR_RESULT_MEAN,
    GR_RESULT_REAL,
    GR_RESULT_SUMS,
    GR_RESULT_B8,
    GR_RESULT_I64,
    GR_RESULT_PLACE,
    GR_RESULT_TWO
} gr_result;
typedef enum gr_identity_kind {
    GR_IDENTITY_NONE,
    GR_IDENTITY_ZERO,
    GR_IDENTITY_ONE,
    GR_IDENTITY_ONES,
    GR_IDENTITY_LARGEST,
    GR_IDENTITY_LEAST
} gr_identity_kind;
/* What an operator makes of no elements. */
typedef enum gr_empty { GR_EMPTY_VALUE, GR_EMPTY_ZERO, GR_EMPTY_NOTHING } gr_empty;
typedef enum gr_parameter { GR_PARAMETER_COUNT, GR_PARAMETER_GIVEN } gr_parameter;
/* Sets of dtypes; ANY is what an operator may take. */
typedef enum gr_dtype_set {
    GR_DTYPES_ANY,
    GR_DTYPES_FLOATS,
    GR_DTYPES_REALS,
    GR_DTYPES_COMPLEX,
    GR_DTYPES_NONE
} gr_dtype_set;
/* The sets of operators that rungs cover, a column of ops.def each. */
typedef enum gr_op_set { GR_SET_TREE, GR_SET_ADDITION, GR_SET_LIBRARY, GR_SET_COUNT } gr_op_set;

typedef struct gr_op_row {
    const char *name;
    const char *kernels; /* the operator whose kernels it has */
    const char *file;    /* and where they are */
    bool is_shared;      /* a row of float_ops.def */
    gr_takes takes;
    gr_dtype_set dtypes, packed;
    gr_result result;
    gr_empty empty;
    gr_parameter parameter;
    bool large_states; /* of up to GR_LARGE_STATE_BYTES */
    gr_identity_kind identity;
    bool in_set[GR_SET_COUNT];
} gr_op_row;

extern const gr_op_row gr_ops[GR_OP_COUNT];

/* Finds an operator by its public name; false if there is none. */
bool gr_op_find(const char *name, gr_op *out);
/* Whether there are kernels for the operator on elements of this dtype. */
bool gr_op_takes(gr_op op, gr_dtype dtype);
/* Whether they are for elements side by side, too, and flat ones; those of float_ops.def from 9.0 on. */
bool gr_op_packed(gr_op op, gr_dtype dtype);
/* Whether it is `var` or one of its kind. */
static inline bool gr_op_is_variance(gr_op op) {
    return op == GR_OP_var || op == GR_OP_std || op == GR_OP_nanvar || op == GR_OP_nanstd;
}
/* Whether positions count, so that elements have to be numbered in C order. */
static inline bool gr_op_in_order(gr_op op) {
    return gr_ops[op].result == GR_RESULT_PLACE;
}
/* Whether an element that is there several times counts as one. */
bool gr_op_idempotent(gr_op op);
/* The bytes of a State, where those of neighbouring results leave registers for fewer blocks of a
   multiprocessor than are resident otherwise; or 0. Of operators of float_ops.def that have no positions. */
unsigned gr_op_state_bytes(gr_op op, gr_dtype dtype);
/* The dtype of its result, as NumPy has it. */
gr_dtype gr_op_result(gr_op op, gr_dtype dtype);
/* Of how many numbers of that dtype each result is. */
static inline size_t gr_op_numbers(gr_op op) {
    return gr_ops[op].result == GR_RESULT_SUMS ? 6 : 1;
}

/* The dtype of what a pass of a rung makes of elements of `dtype`: the elements of the pass after it. Where
   the result is a PLACE they are pairs of a position and an element of this dtype (place.cuh). */
gr_dtype gr_op_partial(gr_op op, gr_dtype dtype);
/* The bytes of such a partial result. */
size_t gr_op_partial_bytes(gr_op op, gr_dtype dtype);
/* The identity of a rung's operator as such a partial result; zeros where ops.def names none. */
gr_scalar gr_op_identity(gr_op op, gr_dtype partial);
/* Turns the last partial result of a rung into the result of the operator. */
void gr_op_finish(gr_op op, gr_dtype partial, gr_scalar *value);

#endif
