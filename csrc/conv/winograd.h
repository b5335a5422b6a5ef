/* Winograd's F(2 x 2, 3 x 3). */
#ifndef GR_CONV_WINOGRAD_H
#define GR_CONV_WINOGRAD_H

#include "conv/common.h"

/* By sixteen products of transformed tiles and filters, of 3 x 3 taps one pixel apart; by a ring of tiles
   where the convolution is another, or, in NHWC, has channels or filters that are not by fours. */
gr_status gr_conv_winograd(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                           const gr_conv_operands *operands, gr_program *program, gr_error *error);

#endif
