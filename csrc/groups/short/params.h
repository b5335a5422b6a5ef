/* Parameters of the kernel of group sums of few rows. Read by C and CUDA. */
#ifndef GR_GROUPS_SHORT_PARAMS_H
#define GR_GROUPS_SHORT_PARAMS_H

#include "groups/params.h"

enum {
    GR_SHORT_GROUPS_MAX_THREADS = 512, /* per block */
    GR_SHORT_GROUPS_IN_FLIGHT = 4,     /* elements and labels that a thread loads at once */
};

/* Of one column. A block has a group of a line. */
typedef struct gr_short_groups_params {
    gr_group_params rows;
} gr_short_groups_params;

#endif
