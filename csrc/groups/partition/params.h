/* Parameters of the kernels that sum many groups by partitions: runs of groups whose windows fit in shared
   memory. Read by C and CUDA. */
#ifndef GR_GROUPS_PARTITION_PARAMS_H
#define GR_GROUPS_PARTITION_PARAMS_H

#include "groups/params.h"

enum {
    GR_PARTITION_THREADS = 512,            /* per block of group_partition */
    GR_PARTITION_MAX_ROWS_PER_THREAD = 16, /* rows that group_partition has in flight; or half as many */
    GR_PARTITION_EARLY_BLOCKS = 2 * 132,   /* blocks that begin while the kernel before ends: two per SM */
    GR_PARTITION_TABLE = 256,              /* 16-bit words per tile in the table */
    GR_PARTITION_MAX = 254,                /* max. partitions: the table also has the end of the last */
    GR_PARTITION_MAX_SHIFT = 14,           /* log2 of groups per partition */
    GR_PARTITION_ROWS_PER_THREAD = 4,      /* rows that group_accumulate has in flight */
    GR_PARTITION_DOUBLE_PLANES = 16,       /* per result of float64, at least: digits around the windows */
};

/* Indices of 32-bit words that all blocks share, zero before and after a call. */
enum {
    GR_PARTITION_ROWS = 0,      /* [partition]: the number of its rows */
    GR_PARTITION_TICKETS = 256, /* [partition]: counts the blocks that share it and are done */
    GR_PARTITION_USED = 512, /* [partition][3]: planes that these blocks have added to, as in GR_GROUP_USED */
    GR_PARTITION_TICKET = 1280, /* counts the blocks of group_accumulate that are done */
    GR_PARTITION_STATE_BYTES = 1284 * 4,
};

typedef struct gr_partition_params {
    gr_group_params sums; /* one line of one column; elements and labels are contiguous */
    uint64_t values; /* address of the elements: of each tile those of partition 0, then of partition 1 ... */
    uint64_t locals; /* address of uint16, of each element: its group within the partition */
    uint64_t table;  /* address of uint16 [tile][GR_PARTITION_TABLE]: where partitions begin in the tile */
    uint64_t state;  /* address of the words above */
    uint64_t tiles;
    uint32_t partitions;
    uint32_t shift; /* log2 of groups per partition */
    uint32_t
        max_rows; /* per block of group_accumulate: of a partition with more, several blocks take a part */
    uint32_t tile_rows;
    uint32_t planes; /* per result */
} gr_partition_params;

#endif
