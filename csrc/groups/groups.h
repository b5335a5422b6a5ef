/* Reductions of rows by label that depend neither on the order of the rows nor on the device. Sums and means
   are exact, and correctly rounded: elements are added to integers, which commute, by atomic operations.
   Extremes are atomic maxima of keys; of equal elements the first one has the position. Counts and bitwise
   operators combine keys, too. */
#ifndef GR_GROUPS_GROUPS_H
#define GR_GROUPS_GROUPS_H

#include "groups/request.h"

/* Whether an operator has kernels for any dtype. */
bool gr_groups_have(gr_op op);

/* Whether the operator has such kernels for the dtype and the number of rows, and the workspace is in
   proportion: at most 12 bytes per element, 160 bytes per result and 16 MiB, on a device with as much shared
   memory as the reference device. Extremes always are. */
bool gr_groups_take(const gr_groups *self);

/* Returns the number of words of a state of the sum of one component (real, imaginary) of elements of a
   dtype; 0 for integers, which have no such states. */
uint32_t gr_groups_state_words(gr_dtype dtype);

/* Plans and runs a reduction. Does nothing if there are no results. */
gr_status gr_groups_run(gr_device *device, const gr_groups *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
