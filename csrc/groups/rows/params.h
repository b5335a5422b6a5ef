/* Parameters of the kernels that sort rows by group. Read by C and CUDA. */
#ifndef GR_GROUPS_ROWS_PARAMS_H
#define GR_GROUPS_ROWS_PARAMS_H

#include "groups/params.h"

enum {
    GR_SORTED_TILE_SHIFT = 12,    /* log2 of rows per tile */
    GR_SORTED_TILE_THREADS = 256, /* per block of the kernel that partitions labels */
    GR_SORTED_SORT_THREADS = 512, /* per block of the kernel that sorts partitions */
    GR_SORTED_ROUND_TILES = 1024, /* tiles of which a block of that kernel has prefix sums at once */
    GR_SORTED_SUM_THREADS = 256,  /* per block of the kernel that adds rows */
    GR_SORTED_BATCH = 4,          /* rows that a thread of that kernel loads at once while it adds others */
    GR_SORTED_STAGED = 8192,      /* rows of a part that are put in order in shared memory, at most */
    GR_SORTED_MAX_PARTITIONS = 4096,
    GR_SORTED_MAX_LOCALS = 8192,    /* groups per partition */
    GR_SORTED_MIN_PART_ROWS = 8192, /* rows of a partition that blocks share, per block */
    GR_SORTED_MAX_PIECE = 1024,     /* rows that a team (threads of a warp) adds up in registers */
    GR_SORTED_MAX_TEAMS = 4096,     /* teams that add to a slot, about, unless their pieces would be larger */
    GR_SORTED_MAX_ROWS_SHIFT = 31,
    GR_SORTED_MARGIN = 10,         /* exponents of headroom above those of the sample */
    GR_SORTED_MIN_HEADROOM = 11,   /* log2 of rows that a thread adds up, and one bit */
    GR_SORTED_SHORT = 0xffffffffu, /* the slot of a run that is a whole group */
};

/* Indices of 32-bit words at `choice`, which one kernel writes and later ones read. */
enum {
    GR_SORTED_EXPONENT = 0, /* the greatest exponent of a sample of elements */
    GR_SORTED_ROWS = 1,     /* rows that have a group */
    GR_SORTED_CHOICE_BYTES = 256,
};

/* Flags of a slot, in addition to those of superaccumulators. The upper half of their word counts the rows of
   pieces whose elements are all -0. */
enum { GR_SORTED_HAS_STATE = 32 };

#define GR_SORTED_LAST_RUN 0x80000000u

/* A run: neighbouring sorted rows of one group. The teams that share a group add to its slot. */
typedef struct gr_sorted_run {
    uint32_t begin, end;
    uint32_t group; /* plus GR_SORTED_LAST_RUN, if the next run is of another part of a partition */
    uint32_t slot;  /* of the group, if other threads add other rows of it; else GR_SORTED_SHORT */
} gr_sorted_run;

typedef struct gr_sorted_rows_params {
    gr_group_params rows; /* of which planes, counts, flags and slabs are unused */
    uint64_t table;   /* address of uint32 [partition][tile]: the tile's records before, 16 bits, and of it */
    uint64_t counts;  /* address of uint32 [partition], zero before and after a call */
    uint64_t records; /* address of uint32 [tile][row of tile], by partition */
    uint64_t order;   /* address of uint32 [rows]: numbers of rows, by group */
    uint64_t run_of; /* address of uint32 [rows]: the index in `runs` of the first rows of chunks and parts */
    uint64_t runs;   /* address of gr_sorted_run: for each partition `locals`, then those of other parts */
    uint64_t totals; /* address of uint32 [slot]: rows of the group */
    uint64_t choice; /* address of the words above */
    uint64_t sums;   /* address of int64 [word][slot][column], zero before and after */
    uint64_t special; /* address of uint64 [slot][column], zero before and after: flags, counts of -0 */
    uint64_t states;  /* address of int64 [slot][column][state word], zero before and after */
    uint64_t tickets; /* address of uint32 [slot][slice], zero before and after: rows added */
    uint64_t columns; /* of all lines */
    uint32_t tiles, partitions_shift;
    uint32_t locals; /* groups per partition, at most */
    uint32_t
        part_rows;  /* rows per block that sorts a part of a partition, at least, where there are several */
    uint32_t chunk; /* sorted rows per team */
    uint32_t slot_rows; /* min. rows of a group with a slot: it has more than `longest` */
    uint32_t longest;   /* rows of a group that one team adds up */
    uint32_t slots;
    uint32_t width_shift;         /* log2 of threads per team */
    uint32_t line_slices, slices; /* of columns: a team takes one slice of a chunk */
    uint32_t headroom;
    uint32_t staged;       /* rows of a part that are put in order in shared memory, at most */
    uint32_t item_bytes;   /* of a column's element: 0 if no sample is needed */
    uint32_t result_bytes; /* of a column */
} gr_sorted_rows_params;

#endif
