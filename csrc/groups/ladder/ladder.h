/* The ladder of group sums, g0 to g4: sums of contiguous float32 by int32 label. */
#ifndef GR_GROUPS_LADDER_LADDER_H
#define GR_GROUPS_LADDER_LADDER_H

#include "program/program.h"
#include "rungs/rung.h"

/* How a rung adds up: a case of the planner. */
typedef enum gr_group_method {
    GR_GROUP_ATOMICS,  /* floating-point atomics on the results in device memory */
    GR_GROUP_SORT,     /* radix sort by label, then a sum per warp */
    GR_GROUP_PRIVATE,  /* floating-point atomics on sums of the block in shared memory */
    GR_GROUP_INTEGERS, /* integer atomics on sums in one unit */
    GR_GROUP_PARTS,    /* elements ordered by ranges of labels, then integer atomics in shared memory */
} gr_group_method;

typedef struct gr_group_variant {
    gr_rung rung;
    gr_group_method method;
    bool float_atomics; /* the bits of a result depend on the order of threads */
} gr_group_variant;

extern const gr_group_variant gr_group_variants[];
extern const gr_ladder gr_group_ladder;

/* Plans and runs a rung: sums `count` float32, input 0, by their labels, input 1, into `groups` float32. Does
   nothing without groups. */
gr_status gr_group_rung_run(gr_device *device, const gr_group_variant *variant, uint64_t count,
                            uint64_t groups, const gr_binding *binding, const gr_interrupt *interrupt,
                            gr_error *error);

#endif
