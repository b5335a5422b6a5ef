/* Parameters of the rungs of the ladder of scans. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_SCAN_LADDER_PARAMS_H
#define GR_SCAN_LADDER_PARAMS_H

#include <stdint.h>

enum {
    GR_SCAN_RUNG_THREADS = 256,       /* per block of s0, s2 and s3 */
    GR_SCAN_TREE_THREADS = 512,       /* per block of s1 */
    GR_SCAN_TREE_TILE = 1024,         /* elements per block of s1 */
    GR_SCAN_SHUFFLES_TILE = 2048,     /* elements per block of s2 */
    GR_SCAN_REDUCE_EACH = 16,         /* consecutive elements of a thread of s3 */
    GR_SCAN_REDUCE_TILE = 4096,       /* elements that a block of s3 scans at a time */
    GR_SCAN_LOOK_BACK_THREADS = 384,  /* per block of s4 */
    GR_SCAN_LOOK_BACK_EACH = 32,      /* consecutive elements of a thread of s4 */
    GR_SCAN_LOOK_BACK_TILE = 12288,   /* elements per block of s4 */
    GR_SCAN_LOOK_BACK_SHARED = 50688, /* bytes of shared memory per block of s4 */
};

/* A cumulative sum of contiguous float32. */
typedef struct gr_scan_rung_params {
    uint64_t from; /* address of float32 [count] */
    uint64_t to;   /* address of float32 [count] */
    /* Address of what blocks leave for others. s1, s2: float32, the sum of each tile, then of all tiles up to
       it; s3: float32, the sum of each block; s4: uint64, zero before, the number of tiles that are taken,
       then the state of each tile. */
    uint64_t totals;
    uint64_t count;    /* of elements */
    uint64_t distance; /* of s0 */
    uint64_t share;    /* elements per block of s3, a multiple of GR_SCAN_REDUCE_TILE */
} gr_scan_rung_params;

#endif
