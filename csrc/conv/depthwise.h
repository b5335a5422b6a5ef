/* Convolutions whose groups have one channel each. */
#ifndef GR_CONV_DEPTHWISE_H
#define GR_CONV_DEPTHWISE_H

#include "conv/common.h"

/* Whether the best kernel is the one for these, and its step. */
bool gr_conv_prefers_depthwise(const gr_conv *self);
gr_status gr_conv_depthwise(const gr_conv *self, const gr_conv_operands *operands, gr_program *program,
                            gr_error *error);

#endif
