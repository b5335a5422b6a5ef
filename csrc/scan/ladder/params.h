/* Parameters of the rungs of the ladder of scans. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_SCAN_LADDER_PARAMS_H
#define GR_SCAN_LADDER_PARAMS_H

#include <stdint.h>

enum {
    GR_SCAN_RUNG_THREADS = 256,    /* per block, except in s1 */
    GR_SCAN_TREE_THREADS = 512,    /* per block of s1 */
    GR_SCAN_TREE_TILE = 1024,      /* elements per block of s1 */
    GR_SCAN_SHUFFLES_TILE = 2048,  /* elements per block of s2 */
    GR_SCAN_THREAD_ELEMENTS = 16,  /* consecutive elements of a thread of s3 and s4 */
    GR_SCAN_RUNG_TILE = 4096,      /* elements that a block of s3 and s4 scans at a time */
    GR_SCAN_RUNG_MAX_BLOCKS = 512, /* of s3 */
};

/* A cumulative sum of contiguous float32. */
typedef struct gr_scan_rung_params {
    uint64_t from; /* address of float32 [count] */
    uint64_t to;   /* address of float32 [count] */
    uint64_t
        totals; /* of s1 and s2: address of float32, the sum of each tile, then of all tiles up to it; of s3:
                   of float32, the sum of each block; of s4: of uint64, the state of each tile, zero before */
    uint64_t ticket; /* of s4: address of a uint32, zero before: the number of tiles that blocks have taken */
    uint64_t count;  /* of elements */
    uint64_t distance; /* of s0 */
    uint64_t share;    /* elements per block of s3, a multiple of GR_SCAN_RUNG_TILE */
} gr_scan_rung_params;

#endif
