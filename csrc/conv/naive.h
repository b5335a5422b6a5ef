/* Convolutions by a kernel of which a thread makes a result. */
#ifndef GR_CONV_NAIVE_H
#define GR_CONV_NAIVE_H

#include "conv/common.h"

gr_status gr_conv_naive(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                        const gr_conv_operands *operands, gr_program *program, gr_error *error);

#endif
