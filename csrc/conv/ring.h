/* Convolutions as products whose tiles are gathered on their way to a ring. */
#ifndef GR_CONV_RING_H
#define GR_CONV_RING_H

#include "conv/common.h"

bool gr_conv_ring_takes(const gr_conv *self, const gr_conv_variant *variant);
/* About how many microseconds it takes the reference device. */
double gr_conv_ring_time(const gr_conv *self);
gr_status gr_conv_by_ring(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_ends *ends, gr_program *program, gr_error *error);

#endif
