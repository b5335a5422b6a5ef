/* The operator table: the rows of ops.def as C data, and functions of an operator and a dtype (the dtype of
   the result, of a partial result, the identity). */
#ifndef GR_REDUCE_OPS_H
#define GR_REDUCE_OPS_H

#include "base/dtypes.h"

typedef enum gr_op {
#define GR_OP_ENUM(name, ...) GR_OP_##name,
#include "reduce/ops.def"
    GR_OPS(GR_OP_ENUM, ) GR_OP_COUNT
#undef GR_OP_ENUM
} gr_op;

/* Sets of dtypes: a bit for each gr_kind. */
typedef enum gr_dtype_set {
    GR_DTYPES_NONE = 0,
    GR_DTYPES_BITS = 1,
    GR_DTYPES_REALS = 2,
    GR_DTYPES_NOT_COMPLEX = 3,
    GR_DTYPES_COMPLEX = 4,
    GR_DTYPES_FLOATS = 6,
    GR_DTYPES_ALL = 7
} gr_dtype_set;
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
/* Sets of operators that rungs implement: each is a column of ops.def. */
typedef enum gr_op_set { GR_SET_TREE, GR_SET_ADDITION, GR_SET_LIBRARY, GR_SET_COUNT } gr_op_set;

typedef enum gr_op_trait {
    GR_OF_PAIR = 1,     /* the operands are two vectors */
    GR_FROM_ZERO = 2,   /* the result starts from 0, unless the caller passes an initial value */
    GR_NONEMPTY = 4,    /* a reduction of no elements warns or raises */
    GR_ROUNDS = 8,      /* results of finite elements may be infinite or NaN, which Python then reports */
    GR_HAS_EXACT = 16,  /* has kernels whose result is rounded once (csrc/exact) */
    GR_IDEMPOTENT = 32, /* op(x, x) == x, so that multiplicity does not matter */
    GR_SELECTS = 64,    /* the result is the value of one of the elements */
    GR_VARIANCE = 128,  /* var, std, nanvar or nanstd */
    GR_ROOT = 256,      /* the result is the square root of a variance */
    GR_SKIPS_NAN = 512, /* a variance that skips NaNs */
    GR_COMPUTE_BOUND = 1024, /* flat kernels need more threads than `ring` has */
    /* Several operators share a file of kernels, and several public functions an operator: its `finish` step
       selects the function. Flat kernels need compute capability 9.0; older devices run the general ones. */
    GR_SHARES_FILE = 2048,
    /* Integers for which the results are the same bits have the kernels of the unsigned integer of their size
       (cuda_kernels/include/reduce/shared_kernels.cuh): 64-bit integers; all; all and bools. */
    GR_SAME_LONG = 4096,
    GR_SAME_SIGNS = 8192,
    GR_SAME_BYTES = 16384,
    GR_HAS_PIECES = 32768 /* the order of floating-point elements counts: there is the kernel `pieces` */
} gr_op_trait;

typedef struct gr_op_row {
    const char *name;
    const char *file; /* the kernels' file, without prefix and suffix */
    gr_dtype_set takes, packed;
    gr_result result;
    gr_identity_kind identity;
    unsigned state_bytes; /* bytes of a State whose registers lower occupancy; else 0 */
    unsigned traits;      /* bits of gr_op_trait */
    bool in_set[GR_SET_COUNT];
} gr_op_row;

extern const gr_op_row gr_ops[GR_OP_COUNT];

static inline bool gr_op_has(gr_op op, gr_op_trait trait) {
    return (gr_ops[op].traits & (unsigned)trait) != 0;
}
/* Whether the results are denominators of a softmax, which kernels of logsumexp write by a flag. */
static inline bool gr_op_is_denominator(gr_op op) {
    return gr_ops[op].result == GR_RESULT_TWO;
}
/* The operator in the names of its kernels. */
static inline const char *gr_op_kernels(gr_op op) {
    if (gr_op_is_denominator(op))
        return gr_ops[GR_OP_logsumexp].name;
    return gr_op_has(op, GR_SHARES_FILE) ? gr_ops[op].name : gr_ops[op].file;
}
/* The dtype in the names of the kernels for elements of `dtype`. */
gr_dtype gr_op_kernel_dtype(gr_op op, gr_dtype dtype);
/* The dtype in the names of the kernels of pass 2, which read States: one kernel serves all dtypes whose
   results have one dtype, unless the State is an element. */
gr_dtype gr_op_last_dtype(gr_op op, gr_dtype dtype);
/* Whether `finish` gets 64 bits from the caller instead of the number of elements. */
static inline bool gr_op_has_parameter(gr_op op) {
    return gr_op_has(op, GR_VARIANCE) || gr_op_has(op, GR_SHARES_FILE);
}

/* Finds an operator by its public name. Returns false if there is none. */
bool gr_op_find(const char *name, gr_op *out);
/* Whether the operator has kernels for elements of this dtype. */
bool gr_op_takes(gr_op op, gr_dtype dtype);
/* Whether the operator also has flat kernels and kernels for contiguous elements. */
bool gr_op_packed(gr_op op, gr_dtype dtype);
static inline bool gr_op_is_variance(gr_op op) {
    return gr_op_has(op, GR_VARIANCE);
}
/* Whether threads of `tiles` take the elements of a result in an order that depends on their number alone:
   see vector_tiles.cuh. */
static inline bool gr_op_fixes_order(gr_op op, gr_dtype dtype) {
    return gr_op_is_variance(op) &&
           (gr_dtypes[dtype].kind == GR_KIND_REAL ||
            (gr_dtypes[dtype].kind == GR_KIND_BITS && gr_dtypes[dtype].item_bytes >= 4));
}
/* Whether an operator with kernels for contiguous elements of a dtype has `pieces`, too. Variances of 64-bit
   integers are computed in float64. */
static inline bool gr_op_has_pieces(gr_op op, gr_dtype dtype) {
    return gr_op_has(op, GR_HAS_PIECES) && (gr_dtypes[dtype].kind != GR_KIND_BITS ||
                                            (gr_op_is_variance(op) && gr_dtypes[dtype].item_bytes == 8));
}
/* The operator whose kernels reduce contiguous rows of floating-point numbers under a mask, by flags of
   reduce/masked/params.h. */
static inline gr_op gr_op_of_masked_rows(gr_op op) {
    return op == GR_OP_sum || op == GR_OP_nansum || op == GR_OP_nanmean ? GR_OP_mean
           : op == GR_OP_nanprod                                        ? GR_OP_prod
                                                                        : op;
}
/* Whether `axis` takes elements along one axis in an order that depends on their number alone. */
static inline bool gr_op_fixes_axis(gr_op op) {
    return op == GR_OP_anynorm;
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
    return gr_op_has(op, GR_OF_PAIR);
}
/* Whether the result is a position, so that elements are numbered in C order. */
static inline bool gr_op_is_positional(gr_op op) {
    return gr_ops[op].result == GR_RESULT_INDEX;
}
/* The number of integers up to which a sum is exact, whatever they are, or a mean is correctly rounded; 0 for
   other operators and dtypes. */
uint64_t gr_op_max_exact_count(gr_op op, gr_dtype dtype);
/* The dtype of the result, as in NumPy. */
gr_dtype gr_op_result(gr_op op, gr_dtype dtype);
/* Numbers of that dtype per result. */
static inline size_t gr_op_numbers(gr_op op) {
    return gr_ops[op].result == GR_RESULT_SUMS ? 6 : 1;
}

/* How results are made from the last State. */
typedef struct gr_finish {
    const void *initial;       /* an element of the result's dtype, or NULL */
    const uint64_t *parameter; /* replaces the number of elements, unless NULL */
    uint32_t flags;            /* bits of reduce/params.h */
    size_t result_bytes;       /* per result */
} gr_finish;

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
