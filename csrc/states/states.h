/* States of parts of a reduction that stay on a device: made of what kernels of reductions have left there,
   and merged, of any operator. */
#ifndef GR_STATES_STATES_H
#define GR_STATES_STATES_H

#include "base/dtypes.h"
#include "program/program.h"
#include "states/params.h"

/* States in one memory of `bytes`: each field in C order from an offset, in bytes. */
typedef struct gr_states {
    gr_state_params params; /* its addresses and item_bytes are left open */
    uint64_t bytes;
} gr_states;

/* What comes of a reduction. */
typedef struct gr_states_left {
    gr_state_begin_params params; /* its states, addresses and paint are left open */
    bool has_high;                /* input 0 has sums, or their lower half, 1 the upper one */
} gr_states_left;

/* GR_ERR_VALUE where a field is not inside the memory, or fields are such as no operator has. */
gr_status gr_states_check(gr_states *self, gr_error *error);

/* Of the memory that is the output: makes states of what is there or, of integers, in the inputs. Checked
   before. */
gr_status gr_states_begin_run(gr_device *device, const gr_states *self, const gr_states_left *left,
                              const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

/* Merges the states of input 0 into those of the output, which may be the same. Checked before. */
gr_status gr_states_merge_run(gr_device *device, const gr_states *self, const gr_binding *binding,
                              const gr_interrupt *interrupt, gr_error *error);

#endif
