/* NCHW turned to NHWC. */
#ifndef GR_CONV_NCHW_TO_NHWC_H
#define GR_CONV_NCHW_TO_NHWC_H

#include "conv/common.h"

/* Has x, unless it stays as it is, and w lie in C order of NHWC, which the layout of *self must be; their
   buffers are those of *ends then. */
gr_status gr_conv_make_nhwc(gr_conv *self, bool x_stays, gr_conv_operands *operands, gr_program *program,
                            gr_error *error);

#endif
