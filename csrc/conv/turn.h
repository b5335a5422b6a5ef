/* NCHW turned to NHWC. */
#ifndef GR_CONV_TURN_H
#define GR_CONV_TURN_H

#include "conv/common.h"

/* Has x, unless it stays as it is, and w lie in C order of NHWC, which the layout of *self must be; their
   buffers are those of *ends then. */
gr_status gr_conv_turn_settle(gr_conv *self, bool x_stays, gr_conv_ends *ends, gr_program *program,
                              gr_error *error);

#endif
