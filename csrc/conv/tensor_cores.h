/* Convolutions on tensor cores, out of shared memory. */
#ifndef GR_CONV_TENSOR_CORES_H
#define GR_CONV_TENSOR_CORES_H

#include "conv/common.h"

/* Whether it has what kernels of their own know: 12 channels, 3 x 3 taps, strides of one. */
bool gr_conv_is_c12_3x3(const gr_conv *self);

/* What does not fit is made by columns and a product. */
gr_status gr_conv_tensor_cores(const gr_conv *self, const gr_conv_variant *variant,
                               const gr_device_info *info, const gr_conv_operands *operands,
                               gr_program *program, gr_error *error);

#endif
