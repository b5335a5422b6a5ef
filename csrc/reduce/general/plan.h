/* The launches of the general kernels: a pure function of layout and operator. */
#ifndef GR_REDUCE_GENERAL_PLAN_H
#define GR_REDUCE_GENERAL_PLAN_H

#include "program/program.h"
#include "reduce/general/layout.h"

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
    const void *initial;       /* an element of the result's dtype, or NULL */
    const uint64_t *parameter; /* in place of the number of elements, or NULL */
    uint32_t finish_flags;     /* of reduce/params.h */
    size_t result_bytes;
} gr_general_ends;

/* Appends a launch, whose kernel is the caller's to name. `params` are the first of `bytes` bytes that it
 * takes. */
gr_step *gr_general_append(const gr_general_plan *plan, size_t pass, const gr_general_ends *ends,
                           gr_general_params *params, size_t bytes, gr_program *program);

#endif
