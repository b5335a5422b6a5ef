/* Convolutions as products of matrices: what the taps see is written down first. */
#ifndef GR_CONV_IM2COL_H
#define GR_CONV_IM2COL_H

#include "conv/common.h"

/* Whether x is the matrix itself, as every result sees one pixel, its own. */
bool gr_conv_is_gemm(const gr_conv *self);
bool gr_conv_im2col_supports(const gr_conv *self, const gr_conv_variant *variant);
gr_status gr_conv_im2col(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_operands *operands, gr_program *program, gr_error *error);

/* Whether an array of pictures, or of filters, lies in C order of the layout, from a boundary of 16 bytes on.
 */
bool gr_conv_is_dense(const gr_conv_view *side, gr_conv_layout layout, uint64_t outer, uint64_t height,
                      uint64_t width, uint64_t channels);

/* Has x and w copied, unless they lie in C order of the layout from a boundary of 16 bytes on; their buffers
   and sides change accordingly. */
gr_status gr_conv_make_dense(gr_conv *self, gr_conv_operands *operands, gr_program *program, gr_error *error);

#endif
