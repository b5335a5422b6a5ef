/* The ladder of scans, s0 to s4: cumulative sums of contiguous float32. */
#ifndef GR_SCAN_LADDER_LADDER_H
#define GR_SCAN_LADDER_LADDER_H

#include "program/program.h"
#include "rungs/rung.h"

/* How a rung scans: a case of the planner. */
typedef enum gr_scan_method {
    GR_SCAN_DOUBLING,  /* a launch per power of two */
    GR_SCAN_TREE,      /* tiles in shared memory, sums of tiles, an addition to each tile */
    GR_SCAN_SHUFFLES,  /* the same with tiles in registers */
    GR_SCAN_REDUCE,    /* sums of blocks, then a scan of each block */
    GR_SCAN_LOOK_BACK, /* one launch */
} gr_scan_method;

typedef struct gr_scan_variant {
    gr_rung rung;
    gr_scan_method method;
    bool timed; /* the bits of a result depend on when blocks finish */
} gr_scan_variant;

extern const gr_scan_variant gr_scan_variants[];
extern const gr_ladder gr_scan_ladder;

/* The threads per block of a rung. */
uint32_t gr_scan_rung_threads(const gr_scan_variant *variant);

/* Plans and runs a rung: the cumulative sum of `count` float32, input 0. Does nothing without elements. */
gr_status gr_scan_rung_run(gr_device *device, const gr_scan_variant *variant, uint64_t count,
                           const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

#endif
