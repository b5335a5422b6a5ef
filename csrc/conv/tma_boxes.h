/* How a convolution is divided whose tiles the copy engine brings. */
#ifndef GR_CONV_TMA_BOXES_H
#define GR_CONV_TMA_BOXES_H

#include "conv/common.h"

/* A block makes the results of `tiles` times 64 pixels, in a box of pictures, rows and columns, by so many
   filters; a cluster of blocks shares the channels. */
typedef struct gr_conv_tma_tiling {
    uint32_t tiles, filters, blocks_per_sm, slices; /* room: blocks of a multiprocessor */
    bool box_per_tap;                               /* each tap has a box of its own */
    bool persistent;                                /* blocks make box after box */
    bool x_is_nchw;                                 /* pixels come channel by channel */
    gr_conv_tma_params maps;                        /* all of it but the convolution and the tensor maps */
    uint64_t blocks;
    double time; /* microseconds, about */
} gr_conv_tma_tiling;

/* The division that is to be over first; of a convolution that gr_conv_implicit_gemm_tma_supports, and with
   `planes` is one of 1 x 1 in NCHW, whose pictures are one row each. */
gr_conv_tma_tiling gr_conv_choose_tma_tiling(const gr_conv *self, bool x_is_nchw);

#endif
