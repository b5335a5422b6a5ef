/* The operator table: the rows of ops.def, more_ops.def and float_ops.def as C data, and functions of an
   operator and a dtype (the dtype of the result, of a partial result, the identity). */
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
    GR_RESULT_INDEX,
    GR_RESULT_TWO
} gr_result;
typedef enum gr_identity_kind {
    GR_IDENTITY_NONE,
    GR_IDENTITY_ZERO,
    GR_IDENTITY_ONE,
    GR_IDENTITY_ONES,
    GR_IDENTITY_LARGEST,
    GR_IDENTITY_SMALLEST
} gr_identity_kind;
/* The result of a reduction of no elements. */
typedef enum gr_empty { GR_EMPTY_VALUE, GR_EMPTY_ZERO, GR_EMPTY_NOTHING } gr_empty;
typedef enum gr_parameter { GR_PARAMETER_COUNT, GR_PARAMETER_GIVEN } gr_parameter;
/* Sets of dtypes. ANY: all that the operator accepts. */
typedef enum gr_dtype_set {
    GR_DTYPES_ANY,
    GR_DTYPES_FLOATS,
    GR_DTYPES_REALS,
    GR_DTYPES_COMPLEX,
    GR_DTYPES_NONE
} gr_dtype_set;
/* Sets of operators that rungs implement: each is a column of ops.def. */
typedef enum gr_op_set { GR_SET_TREE, GR_SET_ADDITION, GR_SET_LIBRARY, GR_SET_COUNT } gr_op_set;

typedef struct gr_op_row {
    const char *name;
    const char *kernels; /* name of the operator whose kernels are used */
    const char *file;    /* the kernels' file, without prefix and suffix */
    bool is_shared;      /* the row is from float_ops.def */
    gr_takes takes;
    gr_dtype_set dtypes, packed;
    gr_result result;
    gr_empty empty;
    gr_parameter parameter;
    bool large_states; /* States have up to GR_LARGE_STATE_BYTES */
    gr_identity_kind identity;
    bool in_set[GR_SET_COUNT];
} gr_op_row;

extern const gr_op_row gr_ops[GR_OP_COUNT];

/* Traits that are not a column of a list of operators; ops.c has the table. */
typedef enum gr_op_trait {
    GR_TRAIT_FROM_ZERO = 1,      /* the result starts from 0, unless the caller passes an initial value */
    GR_TRAIT_ROUNDS = 2,         /* floating-point results may overflow or become NaN */
    GR_TRAIT_EXACT = 4,          /* has kernels whose result is rounded once (csrc/exact) */
    GR_TRAIT_IDEMPOTENT = 8,     /* op(x, x) == x */
    GR_TRAIT_SELECTS = 16,       /* the result is the value of one of the elements */
    GR_TRAIT_VARIANCE = 32,      /* var, std, nanvar or nanstd */
    GR_TRAIT_ROOT = 64,          /* the result is the square root of a variance */
    GR_TRAIT_SKIPS_NAN = 128,    /* a variance that skips NaNs */
    GR_TRAIT_COMPUTE_BOUND = 256 /* flat kernels need more threads than `ring` has */
} gr_op_trait;

bool gr_op_has(gr_op op, gr_op_trait trait);

/* Finds an operator by its public name. Returns false if there is none. */
bool gr_op_find(const char *name, gr_op *out);
/* Whether the operator has kernels for elements of this dtype. */
bool gr_op_takes(gr_op op, gr_dtype dtype);
/* Whether the operator also has flat kernels and kernels for contiguous elements; those of float_ops.def
   need compute capability 9.0. */
bool gr_op_packed(gr_op op, gr_dtype dtype);
static inline bool gr_op_is_variance(gr_op op) {
    return gr_op_has(op, GR_TRAIT_VARIANCE);
}
/* Whether the result is the sum of the elements. */
static inline bool gr_op_is_sum(gr_op op) {
    return gr_ops[op].in_set[GR_SET_ADDITION];
}
static inline bool gr_op_is_mean(gr_op op) {
    return gr_ops[op].result == GR_RESULT_MEAN;
}
/* Whether the operands are two vectors. */
static inline bool gr_op_is_pair(gr_op op) {
    return gr_ops[op].takes == GR_TAKES_PAIR;
}
/* Whether the result is a position, so that elements are numbered in C order. */
static inline bool gr_op_is_positional(gr_op op) {
    return gr_ops[op].result == GR_RESULT_INDEX;
}
/* Whether op(x, x) == x, so that multiplicity does not matter. */
bool gr_op_idempotent(gr_op op);
/* The bytes of a State if the registers for States of neighbouring results lower the occupancy of a kernel;
   else 0. Only for operators of float_ops.def whose result is not a position. */
unsigned gr_op_state_bytes(gr_op op, gr_dtype dtype);
/* Whether a thread of the general kernel `rows` keeps the elements of an iteration in registers. */
bool gr_op_keeps_elements(gr_op op, gr_dtype dtype);
/* Whether results of finite elements may be infinite or NaN, so that Python looks for floating-point errors.
 */
bool gr_op_checks_nonfinite(gr_op op);
/* The number of integers of up to 32 bits up to which no sum wraps or rounds, so that a sum or a mean is
   exact but for its last division; 0 for other operators. */
uint64_t gr_op_max_exact_count(gr_op op);
/* The dtype of the result, as in NumPy. */
gr_dtype gr_op_result(gr_op op, gr_dtype dtype);
/* Numbers of that dtype per result. */
static inline size_t gr_op_numbers(gr_op op) {
    return gr_ops[op].result == GR_RESULT_SUMS ? 6 : 1;
}

/* The dtype of a partial result, which is the element of a rung's next pass. Of an operator whose result is
   an INDEX, partial results are pairs of a position and an element of this dtype
   (reduce/ladder/arg_value.cuh). */
gr_dtype gr_op_partial(gr_op op, gr_dtype dtype);
/* Bytes per partial result. */
size_t gr_op_partial_bytes(gr_op op, gr_dtype dtype);
/* The identity of a rung's operator as a partial result; zeros if ops.def names none. */
gr_scalar gr_op_identity(gr_op op, gr_dtype partial);
/* Converts the last partial result of a rung to the result of the operator. */
void gr_op_finish(gr_op op, gr_dtype partial, gr_scalar *value);

#endif
