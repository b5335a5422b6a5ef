/* Plans of extremes of groups: minima, maxima, their rows, any and all; and of counts and bitwise operators.
 */
#ifndef GR_GROUPS_EXTREMES_PLAN_H
#define GR_GROUPS_EXTREMES_PLAN_H

#include "groups/kind.h"

/* Whether an operator has such kernels for any dtype. */
bool gr_extremes_have(gr_op op);

/* Whether the operator has such kernels for the dtype and the number of rows. */
bool gr_extremes_take(const gr_groups *self);

/* Appends the steps of the plan. `rows` are the parameters of the elements and labels. */
void gr_extremes_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                      gr_program *program);

#endif
