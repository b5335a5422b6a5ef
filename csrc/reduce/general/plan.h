/* Plans the launches of the general kernels as a pure function of layout, operator and reference device:
   merges dimensions, removes broadcast ones, and adds a second pass where several blocks share a result. */
#ifndef GR_REDUCE_GENERAL_PLAN_H
#define GR_REDUCE_GENERAL_PLAN_H

#include "program/program.h"
#include "reduce/general/layout.h"
#include "reduce/ops.h"

enum { GR_GENERAL_PASSES = 2 };

typedef struct gr_general_plan {
    bool single_pass; /* The flat kernels reduce the array: there are no launches here. */
    size_t count;     /* launches: 0 if there is no result, else 1 to GR_GENERAL_PASSES */
    uint64_t results;
    uint64_t reduced_count; /* elements per result */
    size_t states_bytes;    /* bytes of the States between the two launches */
    bool placed; /* The one launch writes results in the order of the elements, for a copy into the order of
                    the output, which is in `output_layout` of its parameters. */
    gr_general_launch launches[GR_GENERAL_PASSES];
} gr_general_plan;

/* Returns GR_ERR_VALUE if the kept or the reduced dimensions do not merge into GR_MAX_DIMS. The caller then
   copies the input to C order, kept dimensions first, and plans again. */
gr_status gr_general_plan_make(const gr_layout *layout, gr_general_plan *plan, gr_error *error);

/* The buffers of a program. */
typedef struct gr_general_operands {
    uint32_t in, second, out, states; /* numbers of buffers; `second` and `states` are ignored if unused */
    bool has_second, has_where;
    uint32_t flags; /* more flags of both launches */
    gr_finish finish;
} gr_general_operands;

/* Appends a launch; the caller names its kernel. `params` are the first of the `bytes` bytes of parameters.
 */
gr_step *gr_general_append(const gr_general_plan *plan, size_t pass, const gr_general_operands *operands,
                           gr_general_params *params, size_t bytes, gr_program *program);

#endif
