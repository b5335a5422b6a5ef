/* The launches of the general kernels: a pure function of layout and operator. */
#ifndef GR_REDUCE_GENERAL_PLAN_H
#define GR_REDUCE_GENERAL_PLAN_H

#include "base/limits.h"
#include "program/program.h"
#include "reduce/general/params.h"

enum { GR_MAX_NDIM = 64 };

/* An input as NumPy describes it; strides in bytes. second_strides are those of the `where` mask or of the
   other vector, of the same shape. */
typedef struct gr_layout {
    size_t ndim;
    size_t item_bytes;
    size_t result_bytes; /* of a result */
    uint64_t origin;     /* address of the first element, modulo 256 */
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    int64_t second_stride[GR_MAX_NDIM];
    bool reduced[GR_MAX_NDIM];
    bool has_second;
    bool in_order;    /* positions count (argmin): elements must be numbered in C order */
    bool packed;      /* there are kernels for elements that lie side by side: see axis_plan.c */
    bool single_pass; /* one result from contiguous elements is for the flat kernels */
    bool pair;        /* `second` is another vector rather than a mask */
} gr_layout;

typedef struct gr_general_launch {
    const char *kernel; /* the middle of the name: "rows", "columns", "tiles", "map", "axis" or "last" */
    uint32_t grid_x, grid_y;
    gr_general_params params; /* in, second, out, flags and initial are the caller's to fill in */
} gr_general_launch;

enum { GR_GENERAL_PASSES = 2 };

typedef struct gr_general_plan {
    bool single_pass; /* flat/plan takes over, there are no launches here */
    size_t count;     /* 0 when there is no result at all, else 1 to GR_GENERAL_PASSES */
    uint64_t results;
    uint64_t reduced_count; /* elements reduced into each result */
    size_t states_bytes;    /* between the two launches */
    gr_general_launch launches[GR_GENERAL_PASSES];
} gr_general_plan;

/* GR_ERR_VALUE when the dimensions do not merge into GR_MAX_DIMS of each kind: copy the input to C order,
   kept dimensions first, and ask again. */
gr_status gr_general_plan_make(const gr_layout *layout, const gr_limits *limits, gr_general_plan *plan,
                               gr_error *error);

/* The buffers of a program, and what the plan leaves open. */
typedef struct gr_general_ends {
    uint32_t in, second, out, states; /* `second` and `states` may be what they are not used for */
    bool has_second, has_where;
    const void *initial; /* an element of the result's dtype, or NULL */
    size_t result_bytes;
} gr_general_ends;

/* Appends a launch, whose kernel is the caller's to name. `params` are the first of `bytes` bytes that it
 * takes. */
gr_step *gr_general_append(const gr_general_plan *plan, size_t pass, const gr_general_ends *ends,
                           gr_general_params *params, size_t bytes, gr_program *program);

#endif
