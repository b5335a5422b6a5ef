/* Reductions that were compiled while the program runs: loading their PTX and running it by the general plan.
 */
#ifndef GR_REDUCE_CUSTOM_CUSTOM_H
#define GR_REDUCE_CUSTOM_CUSTOM_H

#include "reduce/custom/params.h"
#include "reduce/flat/plan.h"
#include "reduce/general/plan.h"

_Static_assert((int)GR_MAX_INPUTS <= (int)GR_MAX_PROGRAM_INPUTS, "a program has room for the inputs");

/* Some of the kernels <name>_axis, <name>_last and so on, loaded on a device that outlives them. */
typedef struct gr_custom gr_custom;

gr_status gr_custom_load(gr_device *device, const char *name, const char *ptx, size_t ptx_bytes,
                         gr_custom **out, gr_error *error);
void gr_custom_free(gr_custom *custom); /* NULL is allowed */

typedef struct gr_custom_operand {
    bool is_array;
    gr_custom_input input; /* its dims if taken by position, or a scalar's value */
} gr_custom_operand;

/* The plan is that of a layout: of the one or two arrays themselves, or of the positions of more. */
typedef struct gr_custom_request {
    size_t count;
    gr_custom_operand operands[GR_MAX_INPUTS];
    bool even;                     /* as in params.h */
    bool large_states;             /* of up to GR_LARGE_STATE_BYTES */
    size_t item_bytes;             /* of an element of the only input, if it is the only one */
    size_t out_bytes;              /* of all results */
    uint64_t outs[GR_MAX_OUTPUTS]; /* as in params.h; the flat kernel has results 16 bytes apart */
    gr_general_plan plan;
} gr_custom_request;

/* Gives the kernels that the plan launches, as "axis"; returns how many. */
size_t gr_custom_kernels(const gr_custom_request *request, const char *names[GR_GENERAL_PASSES]);

/* `customs` has what each of those kernels is in; `binding` an array's elements where the operands have the
   array. */
gr_status gr_custom_run(const gr_custom *const customs[GR_GENERAL_PASSES], const gr_custom_request *request,
                        const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

/* A kernel (const T *in, T *out, integer n), or without n, of which each block leaves one result, and its
   launches: over the elements, then over what the launch before left, until there is one. Without n a launch
   takes whole blocks: zeros follow what the launch before left, up to the n elements of the next pass. */
typedef struct gr_custom_pass {
    uint64_t n;
    uint32_t blocks;
} gr_custom_pass;

typedef struct gr_custom_rung {
    const char *entry;
    size_t item_bytes, count_bytes; /* of an element, and of the parameter n: 4, 8, or 0 */
    uint32_t block, shared_bytes;
    size_t count;
    gr_custom_pass passes[GR_MAX_STEPS];
} gr_custom_rung;

gr_status gr_custom_rung_run(const gr_custom *custom, const gr_custom_rung *rung, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error);
/* As gr_program_time_copies. */
gr_status gr_custom_rung_time(const gr_custom *custom, const gr_custom_rung *rung, const void *data,
                              const gr_timing *timing, double *first_pass, double *all_passes,
                              gr_error *error);

#endif
