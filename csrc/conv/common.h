/* What the ways of laying out a convolution share. */
#ifndef GR_CONV_COMMON_H
#define GR_CONV_COMMON_H

#include "conv/conv.h"

/* The buffers of a convolution. */
typedef struct gr_conv_operands {
    uint32_t x, w, out;
} gr_conv_operands;

/* Appends the launch of a rung's entry, "<rung>_<dtype><form>", with these parameters, and says in them where
   the buffers are: they begin with a gr_conv_params. Grid and block are left to the caller. */
gr_step *gr_conv_launch(const gr_conv *self, const gr_conv_variant *variant, const char *form,
                        const void *params, size_t bytes, const gr_conv_operands *operands,
                        gr_program *program);

/* What the kernels are told of a convolution. */
gr_conv_params gr_conv_make_params(const gr_conv *self);

/* `blocks` of so many threads, along x, y and z. */
gr_status gr_conv_set_grid(gr_step *step, uint64_t x, uint64_t y, uint64_t z, uint32_t threads,
                           gr_error *error);

#endif
