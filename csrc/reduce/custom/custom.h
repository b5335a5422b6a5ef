/* Loads and runs reductions that were compiled at run time (NVRTC): a ReductionKernel by the general and
   flat plans, and a user's rung by its own passes. */
#ifndef GR_REDUCE_CUSTOM_CUSTOM_H
#define GR_REDUCE_CUSTOM_CUSTOM_H

#include "reduce/custom/params.h"
#include "reduce/flat/plan.h"
#include "reduce/general/plan.h"

_Static_assert((int)GR_MAX_INPUTS <= (int)GR_MAX_PROGRAM_INPUTS,
               "the capacity of a program holds all inputs");

/* The kernels <name>_axis, <name>_last and so on of one module, loaded on a device that outlives it. */
typedef struct gr_custom gr_custom;

/* Loads the module from PTX text. The caller frees *out by gr_custom_free. */
gr_status gr_custom_load(gr_device *device, const char *name, const char *ptx, size_t ptx_bytes,
                         gr_custom **out, gr_error *error);
void gr_custom_free(gr_custom *custom); /* NULL is allowed */

typedef struct gr_custom_operand {
    bool is_array;
    gr_custom_input input; /* dims if the kernel indexes it by position; value if it is a scalar */
} gr_custom_operand;

/* The plan is for the layout of the one or two arrays, or of the positions if there are more arrays. */
typedef struct gr_custom_request {
    const gr_custom *customs[GR_GENERAL_PASSES]; /* the modules of the kernels that gr_custom_kernels names */
    size_t count;
    gr_custom_operand operands[GR_MAX_INPUTS];
    bool even;                     /* as in params.h */
    bool large_states;             /* States have up to GR_LARGE_STATE_BYTES */
    size_t item_bytes;             /* bytes per element of a single input */
    size_t out_bytes;              /* bytes of all results */
    uint64_t outs[GR_MAX_OUTPUTS]; /* as in params.h; a flat kernel stores outputs 16 bytes apart */
    gr_general_plan plan;
} gr_custom_request;

/* Writes the names of the kernels that the plan launches, such as "axis", and returns their number. */
size_t gr_custom_kernels(const gr_custom_request *request, const char *names[GR_GENERAL_PASSES]);

/* An array's elements have the same index in `binding` as the array has in the operands. */
gr_status gr_custom_run(const gr_custom_request *request, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

/* A user's kernel (const T *in, T *out, integer n), or without n, in which each block writes one result. The
   first pass reads the elements, each later pass the results of the previous one, until one is left. Without
   n a launch reads whole blocks: zeros pad its input up to the n elements of the pass. */
typedef struct gr_custom_pass {
    uint64_t n;
    uint32_t blocks;
} gr_custom_pass;

typedef struct gr_custom_rung {
    const gr_custom *custom;
    const char *entry;
    size_t item_bytes, count_bytes; /* bytes per element, and of the parameter n: 4, 8, or 0 */
    uint32_t block, shared_bytes;
    size_t count;
    gr_custom_pass passes[GR_MAX_STEPS];
} gr_custom_rung;

gr_status gr_custom_rung_run(const gr_custom_rung *rung, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error);
/* Times the rung as gr_program_time_copies does. */
gr_status gr_custom_rung_time(const gr_custom_rung *rung, const void *data, const gr_timing *timing,
                              double *first_pass, double *all_passes, gr_error *error);

#endif
