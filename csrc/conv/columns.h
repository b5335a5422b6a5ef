/* Convolutions as products of matrices: what the taps see is written down first. */
#ifndef GR_CONV_COLUMNS_H
#define GR_CONV_COLUMNS_H

#include "conv/common.h"

bool gr_conv_columns_take(const gr_conv *self, const gr_conv_variant *variant);
gr_status gr_conv_by_columns(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                             const gr_conv_ends *ends, gr_program *program, gr_error *error);

/* Has x and w copied, unless they lie in C order of the layout from a boundary of 16 bytes on; their buffers
   and sides change accordingly. */
gr_status gr_conv_settle(gr_conv *self, gr_conv_ends *ends, gr_program *program, gr_error *error);

#endif
