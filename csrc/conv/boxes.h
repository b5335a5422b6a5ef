/* How a convolution is divided whose tiles the copy engine brings. */
#ifndef GR_CONV_BOXES_H
#define GR_CONV_BOXES_H

#include "conv/common.h"

/* A block makes the results of `tiles` times 64 pixels, in a box of pictures, rows and columns, by so many
   filters; a cluster of blocks shares the channels. */
typedef struct gr_conv_boxes {
    uint32_t tiles, filters, room, slices; /* room: blocks of a multiprocessor */
    bool apart;                            /* each tap has a box of its own */
    bool resident;                         /* blocks make box after box */
    bool planes;                           /* pixels come channel by channel */
    gr_conv_maps maps;                     /* all of it but the convolution and the tensor maps */
    uint64_t blocks;
    double time; /* microseconds, about */
} gr_conv_boxes;

/* The division that is to be over first; of a convolution that gr_conv_taps_fit, and with `planes` is one of
   1 x 1 in NCHW, whose pictures are one row each. */
gr_conv_boxes gr_conv_boxes_choose(const gr_conv *self, bool planes);

#endif
