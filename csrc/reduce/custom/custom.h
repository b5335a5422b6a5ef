/* Reductions that were compiled while the program runs: loading their PTX and running it by the general plan.
 */
#ifndef GR_REDUCE_CUSTOM_CUSTOM_H
#define GR_REDUCE_CUSTOM_CUSTOM_H

#include "reduce/custom/params.h"
#include "reduce/general/general.h"

/* The kernels <name>_axis, <name>_last and, perhaps, those for one input, loaded on a device that outlives
   them. */
typedef struct gr_custom gr_custom;

gr_status gr_custom_load(gr_device *device, const char *name, const char *ptx, size_t ptx_bytes,
                         gr_custom **out, gr_error *error);
void gr_custom_free(gr_custom *custom); /* NULL is allowed */
gr_device *gr_custom_device(const gr_custom *custom);

typedef struct gr_custom_operand {
    bool is_array;
    gr_source source;      /* of an array */
    gr_custom_input input; /* its dims if taken by position, or a scalar's value */
} gr_custom_operand;

typedef struct gr_custom_request {
    size_t count;
    gr_custom_operand operands[GR_MAX_INPUTS];
    bool even;           /* as in custom_params.h */
    size_t item_bytes;   /* of an element of the only input, if it is the only one */
    size_t result_bytes; /* of one result */
    void *host_out;      /* room for the results in host memory; NULL: they go to device_out */
    gr_devptr device_out;
} gr_custom_request;

/* `plan` is that of a layout: of the one or two arrays themselves, or of the positions of more. */
gr_status gr_custom_run(const gr_custom *custom, const gr_custom_request *request,
                        const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error);

#endif
