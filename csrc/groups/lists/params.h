/* Parameters of the kernel of group sums of listed rows. Read by C and CUDA. */
#ifndef GR_GROUPS_LISTS_PARAMS_H
#define GR_GROUPS_LISTS_PARAMS_H

#include "groups/params.h"

enum {
    GR_GROUP_LISTS_MAX_THREADS = 256, /* per block */
    GR_GROUP_LISTS_IN_FLIGHT = 8,     /* rows that a thread loads at once */
    GR_GROUP_LISTS_TILES = 4,         /* tiles of a group that a warp takes one after the other */
    GR_GROUP_LISTS_MAX_ROWS = 16384,  /* for whose numbers a block has shared memory */
};

/* A block has `groups` neighbouring groups of a line, and every `splits`-th tile of their columns; a tile has
   2^columns_shift columns. */
typedef struct gr_group_lists_params {
    gr_group_params rows;
    uint32_t groups, line_blocks, splits; /* line_blocks: of a line, for each of the `splits` */
    uint32_t tiles;                       /* per split, at most */
} gr_group_lists_params;

#endif
