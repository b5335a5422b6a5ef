/* Two-dimensional convolutions: the table of rungs (rungs.def), the description of one call, and its run. The
   planner (plan.c) turns a description into a program; a rung names the algorithm that its kernels use. */
#ifndef GR_CONV_CONV_H
#define GR_CONV_CONV_H

#include "base/dtypes.h"
#include "conv/params.h"
#include "matmul/matmul.h"
#include "program/program.h"
#include "rungs/rung.h"

/* ---- rungs ---- */

/* The dtypes of a rung; rungs.def says which these are. */
typedef enum gr_conv_set {
    GR_CONV_FLOATS,
    GR_CONV_F32,
    GR_CONV_HALVES,
    GR_CONV_SINGLES,
    GR_CONV_SETS
} gr_conv_set;

typedef enum gr_conv_algorithm {
    GR_CONV_NAIVE,
    GR_CONV_IM2COL,              /* writes the matrix of what taps read to memory, then multiplies it */
    GR_CONV_IMPLICIT_GEMM,       /* gathers tiles of that matrix in shared memory */
    GR_CONV_DIRECT,              /* keeps a tile of x, halo included, in shared memory */
    GR_CONV_DIRECT_ROWS,         /* keeps filters in registers and streams rows of x */
    GR_CONV_TENSOR_CORES,        /* direct, by wgmma */
    GR_CONV_IMPLICIT_GEMM_TMA,   /* by wgmma; TMA gathers the tiles */
    GR_CONV_SMALL_C,             /* by mma.sync, for few channels */
    GR_CONV_IMPLICIT_GEMM_ASYNC, /* with a pipeline of cp.async */
    GR_CONV_WINOGRAD,            /* F(2 x 2, 3 x 3); Lavin and Gray, arXiv:1509.09308 */
    GR_CONV_LIBRARY,             /* cuDNN */
    GR_CONV_ALGORITHMS
} gr_conv_algorithm;

/* STRIDED: x and w of any strides; DENSE: C order of the layout and 16-byte aligned, else they are copied. */
typedef enum gr_conv_layout_requirement { GR_CONV_STRIDED, GR_CONV_DENSE } gr_conv_layout_requirement;

#define GR_PRECISION_ANY GR_PRECISIONS /* of a rung that supports all precisions */

typedef struct gr_conv_variant {
    gr_rung rung;
    gr_conv_set dtypes;
    gr_precision precision;
    gr_conv_algorithm algorithm;
    gr_conv_layout_requirement layout_requirement;
    uint32_t threads; /* per block */
    uint32_t shared;  /* bytes of dynamic shared memory; 0: none, or the planner computes them */
} gr_conv_variant;

extern const gr_conv_variant gr_conv_variants[];
extern const gr_ladder gr_conv_ladder;

bool gr_conv_supports_dtype(const gr_conv_variant *variant, gr_dtype dtype);
bool gr_conv_supports_precision(const gr_conv_variant *variant, gr_precision precision);

/* ---- a call ---- */

/* The order of the axes of x and of the result. w has the same order, with filters instead of images. */
typedef enum gr_conv_layout { GR_CONV_NHWC, GR_CONV_NCHW, GR_CONV_LAYOUTS } gr_conv_layout;

extern const char *const gr_conv_layouts[GR_CONV_LAYOUTS]; /* as `layout=` takes them */

/* The memory layout of x or w. */
typedef struct gr_conv_view {
    gr_conv_strides strides;
    bool aligned; /* the first element is 16-byte aligned */
} gr_conv_view;

/* One convolution: x is input 0, w input 1, and the bias, if there is one, input 2. The result is in C order
   of the layout. */
typedef struct gr_conv {
    const gr_conv_variant *variant; /* NULL: the fastest for this precision */
    gr_precision precision;
    gr_dtype dtype;
    gr_conv_layout layout;
    uint64_t batch;                     /* images */
    uint64_t groups, channels, filters; /* channels and filters per group */
    gr_conv_axis height, width;
    gr_conv_view x, w;
    bool batch_invariant;        /* with variant NULL: the bits of an image do not depend on `batch` */
    bool has_bias;               /* one element per filter is added to the rounded results */
    int64_t bias_stride;         /* elements */
    bool out_aligned;            /* the output is 16-byte aligned */
    bool needs_temporary_output; /* the output overlaps an input: compute in a temporary, then copy */
} gr_conv;

/* Returns the number of elements of the result. */
uint64_t gr_conv_output_count(const gr_conv *self);

/* Plans and runs a convolution; does nothing if the result is empty. */
gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error);

/* Opens cuDNN, which the rung `cudnn` calls for comparison with the ladder: $GPUREDUCE_LIBCUDNN, else
   libcudnn.so of the supported version as the dynamic linker finds it, unless the process has it already.
   GR_ERR_VALUE says what was looked for. */
gr_status gr_cudnn_open(gr_error *error);

#endif
