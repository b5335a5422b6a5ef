/* How long the ways of laying out a convolution take, for the choice between them. */
#ifndef GR_CONV_COST_MODEL_H
#define GR_CONV_COST_MODEL_H

#include "conv/common.h"

/* About how many microseconds a rung takes the reference device. */
double gr_conv_estimate_time(const gr_conv *self, const gr_conv_variant *variant);

#endif
