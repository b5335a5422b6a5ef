/* Parameters of the kernel of group sums of few rows. Read by C and CUDA. */
#ifndef GR_GROUPS_SHORT_PARAMS_H
#define GR_GROUPS_SHORT_PARAMS_H

#include "groups/params.h"

enum {
    GR_SHORT_GROUPS_MAX_THREADS = 256, /* per block */
    GR_SHORT_GROUPS_IN_FLIGHT = 4,     /* elements and labels that a thread loads at once */
    GR_SHORT_GROUPS_MAX_ROWS = 8192,   /* for whose numbers a block has shared memory */
};

/* A block has a group of a line, and every `splits`-th tile of its columns; a tile has 2^columns_shift
   columns. */
typedef struct gr_short_groups_params {
    gr_group_params rows;
    uint32_t splits;
} gr_short_groups_params;

#endif
