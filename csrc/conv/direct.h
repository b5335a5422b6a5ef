/* Convolutions of which a block makes a tile of the results. */
#ifndef GR_CONV_DIRECT_H
#define GR_CONV_DIRECT_H

#include "conv/common.h"

/* Whether pictures are so small that kernels count within them in 32 bits. */
bool gr_conv_fits_32_bits(const gr_conv *self, const gr_conv_variant *variant);

/* By tiles of a product of pixels and filters. */
gr_status gr_conv_implicit_gemm(const gr_conv *self, const gr_conv_variant *variant,
                                const gr_device_info *info, const gr_conv_operands *operands,
                                gr_program *program, gr_error *error);

/* By rectangles of a picture's results, out of a rectangle of x in shared memory; by tiles of a product where
   that has no room. */
gr_status gr_conv_direct(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_operands *operands, gr_program *program, gr_error *error);

/* By rows of x that stream by filters in registers, if those have room there; else by rectangles. */
gr_status gr_conv_direct_rows(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                              const gr_conv_operands *operands, gr_program *program, gr_error *error);

/* Whether the filters are such that a thread keeps one. */
bool gr_conv_direct_rows_supports(const gr_conv *self);

#endif
