/* Convolutions on tensor cores whose tiles the copy engine gathers, tap by tap. */
#ifndef GR_CONV_TAPS_H
#define GR_CONV_TAPS_H

#include "conv/common.h"

/* Whether tensor maps can describe it; else it is made by cores. */
bool gr_conv_taps_fit(const gr_conv *self);

/* Whether x is turned to NHWC first. */
bool gr_conv_taps_turn(const gr_conv *self);

/* About how many microseconds it takes then, when x has been turned. */
double gr_conv_taps_time(const gr_conv *self);

gr_status gr_conv_by_taps(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_ends *ends, gr_program *program, gr_error *error);

#endif
