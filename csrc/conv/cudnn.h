/* NVIDIA's cuDNN beside the ladder, where it is installed: opened at first use, never linked. */
#ifndef GR_CONV_CUDNN_H
#define GR_CONV_CUDNN_H

#include "conv/common.h"

/* Has the library opened: $GPUREDUCE_LIBCUDNN, or libcudnn.so of the version that is known, as far as the
   dynamic linker finds it or has it already. GR_ERR_VALUE says what was looked for. */
gr_status gr_cudnn_open(gr_error *error);

/* Not paddings that differ before and behind, nor arrays of 2^31 elements. */
bool gr_conv_cudnn_supports(const gr_conv *self, const gr_conv_variant *variant);

/* Appends the convolution. The step lacks what gr_cudnn_complete fills in: the library, which device it is,
   and the algorithm, with the memory that it works in. */
gr_status gr_conv_cudnn(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                        const gr_conv_operands *operands, gr_program *program, gr_error *error);
gr_status gr_cudnn_complete(gr_device *device, gr_program *program, gr_error *error);

#endif
