/* Convolutions: the rows of rungs.def, and the program of a call. */
#ifndef GR_CONV_CONV_H
#define GR_CONV_CONV_H

#include "base/dtypes.h"
#include "conv/params.h"
#include "matmul/matmul.h"
#include "program/program.h"
#include "rungs/rung.h"

typedef enum gr_conv_set {
    GR_CONV_FLOATS,
    GR_CONV_F32,
    GR_CONV_HALVES,
    GR_CONV_SINGLES,
    GR_CONV_SETS
} gr_conv_set;
typedef enum gr_conv_algorithm {
    GR_CONV_NAIVE,
    GR_CONV_IM2COL,
    GR_CONV_IMPLICIT_GEMM,
    GR_CONV_DIRECT,
    GR_CONV_DIRECT_ROWS,
    GR_CONV_TENSOR_CORES,
    GR_CONV_IMPLICIT_GEMM_TMA,
    GR_CONV_SMALL_C,
    GR_CONV_IMPLICIT_GEMM_ASYNC,
    GR_CONV_WINOGRAD,
    GR_CONV_LIBRARY,
    GR_CONV_ALGORITHMS
} gr_conv_algorithm;
typedef enum gr_conv_layout_requirement { GR_CONV_STRIDED, GR_CONV_DENSE } gr_conv_layout_requirement;

#define GR_PRECISION_ANY GR_PRECISIONS /* of a rung that takes all */

typedef struct gr_conv_variant {
    gr_rung rung;
    gr_conv_set dtypes;
    gr_precision precision;
    gr_conv_algorithm algorithm;
    gr_conv_layout_requirement layout_requirement;
    uint32_t threads; /* of a block */
    uint32_t shared;  /* bytes of dynamic shared memory */
} gr_conv_variant;

extern const gr_conv_variant gr_conv_variants[];
extern const size_t gr_conv_variant_count;

/* GR_ERR_VALUE lists the names. */
gr_status gr_conv_find(const char *name, const gr_conv_variant **out, gr_error *error);
/* Whether it has kernels for elements of this dtype. */
bool gr_conv_supports_dtype(const gr_conv_variant *variant, gr_dtype dtype);
/* Whether it multiplies in this precision. */
bool gr_conv_supports_precision(const gr_conv_variant *variant, gr_precision precision);

/* The order of the axes of x and of the result; that of w is the same, with filters for pictures. */
typedef enum gr_conv_layout { GR_CONV_NHWC, GR_CONV_NCHW, GR_CONV_LAYOUTS } gr_conv_layout;

extern const char *const gr_conv_layouts[GR_CONV_LAYOUTS]; /* as `layout=` takes them */

/* Where the elements of x or w lie. */
typedef struct gr_conv_view {
    gr_conv_strides strides;
    bool aligned; /* the first element lies on a boundary of 16 bytes */
} gr_conv_view;

/* x is input 0, w input 1. The result lies in C order of the layout. */
typedef struct gr_conv {
    const gr_conv_variant *variant; /* NULL: the best one for this precision */
    gr_precision precision;
    gr_dtype dtype;
    gr_conv_layout layout;
    uint64_t batch, groups, channels, filters; /* channels and filters of one group */
    gr_conv_axis height, width;
    gr_conv_view x, w;
    bool out_aligned;            /* the result begins on a boundary of 16 bytes */
    bool needs_temporary_output; /* it is put together elsewhere and copied, as it overlaps with x or w */
} gr_conv;

/* How many elements the result has. */
uint64_t gr_conv_output_count(const gr_conv *self);
/* Those of an array in C order of the layout, of pictures of these lengths. */
gr_conv_strides gr_conv_dense_strides(gr_conv_layout layout, uint64_t height, uint64_t width,
                                      uint64_t channels);

/* The program of a convolution that has results: a pure function of its arguments. */
gr_status gr_conv_plan(const gr_conv *self, const gr_device_info *info, gr_program *program, gr_error *error);

/* Nothing is done where there are no results. */
gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error);

#endif
