/* What the kernels of scans are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_SCAN_PARAMS_H
#define GR_SCAN_PARAMS_H

#include <stdint.h>

enum {
    GR_SCAN_THREADS = 256, /* of a block */
    GR_SCAN_EACH = 16,     /* rows that a thread takes at most */
    GR_SCAN_BLOCKS = 4,    /* of a multiprocessor at once */
    GR_SCAN_COLUMNS = 32, /* of a tile in a chain of several at most; half of it where States have 16 bytes */
    GR_NODE_HEAD = 64,    /* bytes before the first node: the ticket */
};

enum {
    GR_SCAN_CLEAN_BYTES = 72 << 10, /* of clean memory at most: what calls in graphs have */
};

enum {
    GR_SCAN_LINEAR_IN = 1,  /* the elements of a tile lie side by side */
    GR_SCAN_LINEAR_OUT = 2, /* so do its results */
    GR_SCAN_INITIAL = 4,    /* a line of results begins with that of no elements */
};

/* What integers narrower than their results are loaded as. */
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

/* Of the kernels for long lines of elements side by side, which compute capability 9.0 has. How many blocks
   there are at once, and places of a ring, changes no bit. */
enum {
    GR_LINE_THREADS = 256,                            /* that sum, and as many that finish */
    GR_LINE_BLOCK_THREADS = 2 * GR_LINE_THREADS + 96, /* three warps more look back, scan and move */
    GR_LINE_VECTORS =
        5, /* of 16 bytes that a thread takes: odd, so that eight side by side meet in no bank */
    GR_LINE_TILE_BYTES = GR_LINE_THREADS * GR_LINE_VECTORS * 16,
    GR_LINE_STAGES = 5,      /* tiles in a block's ring */
    GR_LINE_BLOCKS = 2,      /* of a multiprocessor at once */
    GR_LINE_PAIR_STAGES = 9, /* where States have 16 bytes, and two blocks have no room */
    GR_LINE_PAIR_BLOCKS = 1,
    GR_LINE_CHUNK = 128, /* tiles of which a warp scans the sums: some warps full */
};

typedef struct gr_line_params {
    uint64_t in;
    uint64_t out;
    uint64_t nodes; /* a ticket, and nodes, all zero before: of a line those of tiles, of what is before them,
                       of chunks */
    uint64_t length;
    int64_t line_stride;                    /* of the elements, which it counts */
    uint64_t tiles, line_tiles, line_nodes; /* tiles: of all lines */
    uint32_t initial;                       /* 1: a line of results begins with that of no elements */
    uint32_t clears;                        /* 1: nodes and the ticket are zero after, too */
} gr_line_params;

/* Of the kernels for lines of elements side by side that few blocks hold; compute capability 9.0, too. */
enum {
    GR_BRIEF_LEAST_THREADS = 128, /* of a block */
    GR_BRIEF_THREADS = 512,       /* at most */
    GR_BRIEF_VECTORS = 3,         /* of 16 bytes of results that a thread makes */
    GR_BRIEF_BLOCKS = 96,         /* of a line at most: a warp's lanes read three nodes each */
    GR_BRIEF_PAIR_BLOCKS = 64,    /* where States have 16 bytes */
    GR_BRIEF_GRID = 132,          /* blocks of all lines at most, so that all run at once */
};

typedef struct gr_brief_params {
    uint64_t in;
    uint64_t out;
    uint64_t slots; /* zero before and after; of a line a node for each two blocks */
    uint64_t length;
    int64_t line_stride; /* of the elements, which it counts */
    uint32_t blocks;     /* of a line */
    uint32_t initial;    /* 1: a line of results begins with that of no elements */
} gr_brief_params;

/* Lines of `length` rows of `inner` columns each; results are in C order. A tile has `width` columns, and
   rows of one line or of `tile_lines` whole ones. Tiles that follow one another along a line are a chain. Of
   a block's threads 2^columns_shift side by side take columns, 2^groups_shift times that share a slot, of
   `slot` rows, `each` of them each; a slot is part of a line, a line or several. */
typedef struct gr_scan_params {
    uint64_t in;
    uint64_t out;
    uint64_t nodes; /* a ticket, and a node for each column of each tile, all zero; 0 where chains have one */
    uint64_t lines, length, inner;
    int64_t line_stride, along_stride, inner_stride;    /* of the elements, which they count */
    uint64_t chains, chain_tiles, chain_nodes, stripes; /* stripes: tiles beside one another */
    uint32_t kind, flags;
    uint32_t width, tile_lines, slot, each;
    uint32_t again; /* rows of a slot after which another line begins */
    uint32_t columns_shift, groups_shift;
} gr_scan_params;

#endif
