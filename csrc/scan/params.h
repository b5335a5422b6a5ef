/* Parameters of the kernels of prefix sums and products (scans). Read by C and CUDA, so all types are plain
   and of fixed size. */
#ifndef GR_SCAN_PARAMS_H
#define GR_SCAN_PARAMS_H

#include <stdint.h>

enum {
    GR_SCAN_THREADS = 256,        /* per block */
    GR_SCAN_ROWS_PER_THREAD = 16, /* max. rows per thread */
    GR_SCAN_BLOCKS_PER_SM = 4,    /* blocks that an SM holds at once (occupancy) */
    GR_SCAN_BAND_SHIFT = 3,       /* 2^GR_SCAN_BAND_SHIFT runs of rows are a band, 32 bands a section */
    GR_SCAN_BAND_RUNS = 1 << GR_SCAN_BAND_SHIFT,
    GR_SCAN_MAX_COLUMNS = 32,  /* max. columns of a tile in a chain of tiles; half for 16-byte States */
    GR_SCAN_VECTOR_BYTES = 16, /* of results, of the kernels of contiguous lines */
    GR_NODES_OFFSET = 64,      /* bytes before the first node, which hold the ticket */
};

enum {
    GR_SCAN_MAX_ZEROED = 72 << 10, /* max. bytes of zero-initialised workspace */
};

enum {
    GR_SCAN_LINEAR_IN = 1,  /* The elements of a tile are contiguous. */
    GR_SCAN_LINEAR_OUT = 2, /* The results of a tile are contiguous. */
    GR_SCAN_INITIAL = 4,    /* Each line of results begins with the identity. */
};

/* The dtype that elements are loaded as, if it is an integer narrower than the results. */
typedef enum gr_scan_kind {
    GR_SCAN_AS_RESULT,
    GR_SCAN_B8,
    GR_SCAN_I8,
    GR_SCAN_I16,
    GR_SCAN_I32,
    GR_SCAN_U8,
    GR_SCAN_U16,
    GR_SCAN_U32,
} gr_scan_kind;

/* Persistent, warp-specialised kernels for long contiguous lines (compute capability 9.0): warps that sum,
   warps that write results, and one warp each for TMA loads, the scan of the sums and look-back. The number
   of resident blocks and of pipeline stages changes no bit of a result. */
enum {
    GR_PERSISTENT_THREADS = 256, /* threads that sum, and as many that write results */
    GR_PERSISTENT_BLOCK_THREADS = 2 * GR_PERSISTENT_THREADS + 96, /* 3 more warps */
    GR_PERSISTENT_VECTORS = 5, /* 16-byte vectors per thread: odd, which avoids bank conflicts */
    GR_PERSISTENT_TILE_BYTES = GR_PERSISTENT_THREADS * GR_PERSISTENT_VECTORS * 16,
    GR_PERSISTENT_STAGES = 5,        /* pipeline stages: tiles of a block in shared memory */
    GR_PERSISTENT_BLOCKS_PER_SM = 2, /* blocks that an SM holds at once (occupancy) */
    GR_PERSISTENT_PAIR_STAGES = 9,   /* stages for States of 16 bytes, of which an SM holds one block */
    GR_PERSISTENT_PAIR_BLOCKS_PER_SM = 1,
    GR_PERSISTENT_LANE_TILES = 4, /* consecutive tiles of a lane of the warp that scans the sums of tiles */
    GR_PERSISTENT_CHUNK = 32 * GR_PERSISTENT_LANE_TILES, /* tiles whose sums one warp scans */
};

typedef struct gr_persistent_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t nodes; /* address of a ticket and of look-back nodes, all zero before: per line those of tiles,
                       of their prefixes, of chunks */
    uint64_t length;
    int64_t line_stride;                    /* in elements */
    uint64_t tiles, line_tiles, line_nodes; /* tiles: of all lines */
    uint32_t initial;                       /* 1: each line of results begins with the identity */
    uint32_t zeroes_nodes; /* 1: the kernel zeroes the nodes and the ticket when it is done */
} gr_persistent_scan_params;

/* Kernels for contiguous lines that one block holds (compute capability 9.0). Neighbouring lanes have
   neighbouring vectors, a warp several rows of them. */
enum {
    GR_SHORT_VECTORS = 3,     /* rows of 32 vectors of 16 bytes of results per warp: one vector per lane */
    GR_SHORT_WARPS = 4,       /* per block, if lines are so short */
    GR_SHORT_LINE_WARPS = 16, /* max. per line, */
    GR_SHORT_LINE = 6144,     /* and elements */
};

typedef struct gr_short_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t lines, length;
    int64_t line_stride;  /* in elements */
    uint32_t line_warps;  /* warps per line; 0: a row of vectors of a warp holds whole lines */
    uint32_t lanes_shift; /* 2^lanes_shift lanes of a row of vectors have one line */
    uint32_t block_lines; /* lines per block, if they have whole warps */
    uint32_t rows;        /* rows of vectors per warp */
    uint32_t initial;     /* 1: each line of results begins with the identity */
} gr_short_scan_params;

/* Single-wave kernels for contiguous lines of a few blocks (compute capability 9.0): all blocks are resident
   at once, and each reads the sums of all blocks before it. */
enum {
    GR_ONE_WAVE_MIN_THREADS = 64,      /* min. per block: a quarter of a tile of the persistent kernels */
    GR_ONE_WAVE_MAX_THREADS = 512,     /* max. per block: two tiles */
    GR_ONE_WAVE_LINE_BLOCKS = 96,      /* max. per line: each lane of a warp reads three nodes */
    GR_ONE_WAVE_PAIR_LINE_BLOCKS = 64, /* max. per line for States of 16 bytes */
    GR_ONE_WAVE_LINE_TILES = GR_PERSISTENT_CHUNK, /* max. per line */
    GR_ONE_WAVE_GRID = 132, /* max. blocks of all lines: one per SM of the reference device */
};

typedef struct gr_one_wave_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t slots; /* address of one node per pair of blocks of a line, zero before and after */
    uint64_t length;
    int64_t line_stride; /* in elements */
    uint32_t blocks;     /* blocks per line */
    uint32_t first;      /* number of the launch's first block, see first_block_offset in gr_launch */
    uint32_t initial;    /* 1: each line of results begins with the identity */
} gr_one_wave_scan_params;

/* Scans along a short axis whose columns are neighbours: a thread adds up the rows of its columns one after
   the other, so that a result depends on its own column alone. */
enum {
    GR_COLUMN_SCAN_THREADS = 128, /* per block */
    GR_COLUMN_SCAN_LENGTH = 128,  /* max. rows; more columns than a tile of the look-back kernel has */
    GR_COLUMN_SCAN_BYTES = 16,    /* of the results of a thread per row in a vector */
    GR_COLUMN_SCAN_SHORT = 8, /* rows that a thread loads at once: such scans have a kernel of their own */
    GR_COLUMN_SCAN_APART = 4, /* columns of a thread of that kernel, if there are enough */
    GR_COLUMN_SCAN_MIN_THREADS = 1 << 16, /* of all blocks, below which a thread has fewer columns */
    GR_COLUMN_SCAN_FEW = 1 << 16,         /* max. columns of all lines, if a line has no more than a tile */
};

typedef struct gr_column_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t lines, length, inner;                   /* lines of `length` rows of `inner` columns */
    int64_t line_stride, along_stride, inner_stride; /* in elements */
    uint64_t line_threads;                           /* threads per line */
    uint32_t kind;
    uint32_t each;    /* columns per thread: those of a vector, line_threads apart, or 1 */
    uint32_t vectors; /* 1: rows of elements and of results are multiples of aligned vectors */
    uint32_t initial; /* 1: each column of results begins with the identity */
    uint32_t run;     /* rows that are added up one after the other: `each` of gr_scan_params */
} gr_column_scan_params;

/* Scan by decoupled look-back (Merrill and Garland) along a tree of fixed shape, so that the bits of a
   result depend neither on timing nor on how many columns and lines there are: a thread adds up a run of
   rows, bands have a fixed number of runs, sections of bands. Lines have `length` rows of `inner` columns;
   results are in C order. A tile has `width` columns and either rows of one line or `tile_lines` whole lines.
   Consecutive tiles of a line are a chain. 2^columns_shift neighbouring threads of a block have different
   columns; 2^groups_shift groups of them share a slot of `slot` rows, `each` rows per thread. A slot is part
   of a line, one line or several. */
typedef struct gr_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t nodes; /* address of a ticket and of one node per column and tile, all zero; 0 if chains have one
                       tile */
    uint64_t lines, length, inner;
    int64_t line_stride, along_stride, inner_stride;    /* in elements */
    uint64_t chains, chain_tiles, chain_nodes, stripes; /* stripes: tiles next to each other in a row */
    uint32_t kind, flags;
    uint32_t width, tile_lines, slot, each;
    uint32_t line_rows; /* rows of a slot after which the next line begins */
    uint32_t columns_shift, groups_shift;
    uint64_t section_nodes; /* the first nodes of a chain: those of sections. The others are of bands. */
} gr_scan_params;

#endif
