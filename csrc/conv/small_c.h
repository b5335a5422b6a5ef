/* Convolutions of few channels, on tensor cores. */
#ifndef GR_CONV_SMALL_C_H
#define GR_CONV_SMALL_C_H

#include "conv/common.h"

/* Whether it is one that its kernel makes; about how many microseconds that takes, of which memory takes
   `moved` at least. */
bool gr_conv_small_c_supports(const gr_conv *self);
double gr_conv_small_c_time(const gr_conv *self, double moved);
gr_status gr_conv_small_c(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_operands *operands, gr_program *program, gr_error *error);

#endif
