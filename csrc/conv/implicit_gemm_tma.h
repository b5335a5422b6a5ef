/* Convolutions on tensor cores whose tiles the copy engine gathers, tap by tap. */
#ifndef GR_CONV_IMPLICIT_GEMM_TMA_H
#define GR_CONV_IMPLICIT_GEMM_TMA_H

#include "conv/common.h"

/* Whether tensor maps can describe it; else it is made by cores. */
bool gr_conv_implicit_gemm_tma_supports(const gr_conv *self);

/* Whether x is turned to NHWC first. */
bool gr_conv_needs_nhwc_transpose(const gr_conv *self);

/* About how many microseconds it takes then, when x has been turned. */
double gr_conv_implicit_gemm_tma_time(const gr_conv *self);

gr_status gr_conv_implicit_gemm_tma(const gr_conv *self, const gr_conv_variant *variant,
                                    const gr_device_info *info, const gr_conv_operands *operands,
                                    gr_program *program, gr_error *error);

#endif
