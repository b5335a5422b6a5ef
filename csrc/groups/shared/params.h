/* Parameters of the kernel of group sums in shared memory. Read by C and CUDA. */
#ifndef GR_GROUPS_SHARED_PARAMS_H
#define GR_GROUPS_SHARED_PARAMS_H

#include "groups/params.h"

enum {
    GR_SHARED_GROUPS_MAX_THREADS = 1024, /* per block */
    GR_SHARED_GROUPS_EAGER_ROWS = 4096,  /* up to which all elements are loaded together with the labels */
    GR_SHARED_GROUPS_MAX_ROWS = 0xffff,  /* that the counters of a group hold */
};

/* A block has `groups` neighbouring groups. */
typedef struct gr_shared_groups_params {
    gr_group_params rows; /* one line of one column */
    uint32_t groups;
} gr_shared_groups_params;

#endif
