/* Device-resident partial results of reductions (states): builds them from what reduction kernels wrote, and
   merges two, for any operator. Backs gpureduce.partial on device arrays. */
#ifndef GR_STATES_STATES_H
#define GR_STATES_STATES_H

#include "base/dtypes.h"
#include "program/program.h"
#include "states/params.h"

/* States in one allocation of `bytes`: each field is in C order from a byte offset. */
typedef struct gr_states {
    gr_state_params params; /* addresses and item_bytes are filled in later */
    uint64_t bytes;
} gr_states;

/* What a reduction wrote, from which states are built. */
typedef struct gr_states_input {
    gr_state_begin_params params; /* states and addresses are filled in later */
    bool has_high; /* input 0 has the low half of sums, input 1 the high half; without it input 0 has the sums
                    */
} gr_states_input;

/* Returns GR_ERR_VALUE if a field is outside the allocation, or if no operator has these fields. */
gr_status gr_states_check(gr_states *self, gr_error *error);

/* Builds states in place in the output, from it and, for integers, from the inputs. Requires
   gr_states_check. */
gr_status gr_states_begin_run(gr_device *device, const gr_states *self, const gr_states_input *input,
                              const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

/* Merges the states of input 0 into those of the output, which may be the same memory. Requires
   gr_states_check. */
gr_status gr_states_merge_run(gr_device *device, const gr_states *self, const gr_binding *binding,
                              const gr_interrupt *interrupt, gr_error *error);

#endif
