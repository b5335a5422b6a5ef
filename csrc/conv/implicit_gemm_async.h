/* Convolutions as products whose tiles are gathered on their way to a ring. */
#ifndef GR_CONV_IMPLICIT_GEMM_ASYNC_H
#define GR_CONV_IMPLICIT_GEMM_ASYNC_H

#include "conv/common.h"

bool gr_conv_implicit_gemm_async_supports(const gr_conv *self, const gr_conv_variant *variant);
/* About how many microseconds it takes the reference device. */
double gr_conv_implicit_gemm_async_time(const gr_conv *self);
gr_status gr_conv_implicit_gemm_async(const gr_conv *self, const gr_conv_variant *variant,
                                      const gr_device_info *info, const gr_conv_operands *operands,
                                      gr_program *program, gr_error *error);

#endif
