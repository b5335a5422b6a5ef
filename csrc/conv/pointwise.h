/* Convolutions of 1 x 1 with few filters: a kernel of their own. */
#ifndef GR_CONV_POINTWISE_H
#define GR_CONV_POINTWISE_H

#include "conv/common.h"

/* Whether it is one, and the default is asked for. */
bool gr_conv_prefers_pointwise(const gr_conv *self);
gr_status gr_conv_pointwise(const gr_conv *self, const gr_conv_operands *operands, gr_program *program,
                            gr_error *error);

#endif
