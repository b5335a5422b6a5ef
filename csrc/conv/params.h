/* What the kernels of convolutions are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_CONV_PARAMS_H
#define GR_CONV_PARAMS_H

#include <stdint.h>

/* The height or the width of the pictures. The tap `k` of the result `i` is the element
   i * stride + k * dilation - padding of x, or 0 where x has no such element. */
typedef struct gr_conv_axis {
    uint64_t size, kernel, out; /* how many elements: of x, of w, of the result */
    uint64_t stride, dilation;
    int64_t padding; /* zeros before the first element */
} gr_conv_axis;

/* Elements from one to the next. The outermost are pictures of x and of the result, and filters of w;
   channels of the result are those that the filters make. */
typedef struct gr_conv_steps {
    int64_t outer, down, along, channel;
} gr_conv_steps;

/* The results of `batch` pictures. The filters of number g * filters and up take the channels of number
   g * channels and up. */
typedef struct gr_conv_params {
    uint64_t x, w, out;
    uint64_t batch;
    uint64_t groups, channels, filters; /* channels and filters of one group */
    gr_conv_axis down, along;
    gr_conv_steps of_x, of_w, of_out;
} gr_conv_params;

/* Results in tiles of some pixels and some filters of a group: each of `parts` has `filters` of them. */
typedef struct gr_conv_tiles_params {
    gr_conv_params conv;
    uint64_t parts, filters;
    uint64_t across, down;  /* tiles of a picture, where a tile is a rectangle of one */
    uint64_t rows, columns; /* of x that such a tile sees */
    uint64_t quads;         /* fours of channels that are in shared memory at once */
} gr_conv_tiles_params;

/* The same for tensor cores: what a block sees of x lies in shared memory in pieces of 16 bytes, a plane for
   each piece and each remainder of a column's number by the stride. */
typedef struct gr_conv_cores_params {
    gr_conv_params conv;
    uint64_t parts;                     /* of the filters of a group */
    uint64_t across, down;              /* blocks of a picture */
    uint64_t block_rows, block_columns; /* results of a block */
    uint64_t channels_last;             /* the layout is NHWC */
    uint64_t tall;                      /* 64 pixels are 8 rows of 8, and not a row */
    uint64_t rows, columns;             /* of x that a block sees */
    uint64_t pieces;                    /* of channels, that are there at once */
    uint64_t pitch, plane;              /* from row to row in pieces, from plane to plane in bytes */
    uint64_t steps;                     /* products of two pieces each, for all taps */
} gr_conv_cores_params;

/* A tensor map, as the driver or the simulator has made it. */
typedef struct gr_conv_map {
#ifdef __CUDACC__
    alignas(64)
#else
    _Alignas(64)
#endif
        uint64_t words[16];
} gr_conv_map;

/* A tap whose filters are the `number`th of a map: `shift` bytes further in the box that it sees, which
   begins so many elements of x behind what the first result's first tap sees; the first and the last tap of a
   box. */
typedef struct gr_conv_tap {
#ifdef __CUDACC__
    alignas(16)
#else
    _Alignas(16)
#endif
        uint32_t shift;
    int32_t along, down;
    uint16_t number;
    uint8_t first, last;
} gr_conv_tap;

enum {
    GR_CONV_MOST_TAPS = 64,
    GR_CONV_RESULTS_ROOM = 20480, /* bytes in which results of 128 pixels are put together */
};

/* The same where the copy engine brings what taps see: x is a map of channels, groups, columns, rows and
   pictures, w one of channels, taps and filters. Of the box that comes of x, each pixel takes a row of 128
   bytes of shared memory. A block makes the results that see it, in tiles of 64. */
typedef struct gr_conv_maps {
    gr_conv_params conv;
    uint32_t parts;                               /* of the filters of a group */
    uint32_t across, down;                        /* boxes of a picture */
    uint32_t box_columns, box_rows, box_pictures; /* results */
    uint32_t pitch, plane;             /* pixels of a box from row to row, from picture to picture */
    uint32_t tiles_each, tiles_across; /* of a picture, of a row of tiles */
    uint32_t tile_down,
        eights; /* pixels of a box from one row of tiles to the next, from 8 of a tile to the next */
    uint32_t box_bytes;
    uint32_t x_stages, x_bytes, w_stages; /* of the rings */
    uint32_t boxes;                       /* all that there are to make, with all their filters */
    uint32_t room; /* where results are put together in shared memory: 0 for where the rings were */
    uint32_t taps;
    gr_conv_tap tap[GR_CONV_MOST_TAPS];
    gr_conv_map x, w;
} gr_conv_maps;

/* Few channels, on tensor cores: rows of x lie in shared memory as in NHWC, and a row of taps is what lies
   side by side there, in pieces of 16 bytes. A block makes tiles, one after the other. */
typedef struct gr_conv_few_params {
    gr_conv_params conv;
    uint64_t tiles;                /* of all pictures */
    uint64_t across, down;         /* of a picture */
    uint64_t sixteens, block_rows; /* columns of a tile, in sixteens, and rows */
    uint64_t channels_last;        /* the layout is NHWC */
    uint64_t rows, columns;        /* of x that a tile sees */
    uint64_t pitch, row;           /* from pixel to pixel in elements, from row to row in bytes */
    uint64_t pieces;               /* of a row of taps */
    uint64_t steps;                /* products of two pieces each, for all taps */
} gr_conv_few_params;

enum {
    GR_CONV_COLUMNS_THREADS = 256,
    GR_CONV_COLUMNS_LENGTH = 1024, /* elements of a line that a block takes at most */
    GR_CONV_COLUMNS_LINES = 256,   /* lines */
};

/* A matrix of all that the taps see, which takes the place of the result: in NHWC a line for each group and
   pixel, of all its taps; in NCHW a line for each picture, group and tap, of all pixels. Of w only the size
   of the kernel counts. */
typedef struct gr_conv_columns_params {
    gr_conv_params conv;
    uint64_t lines, length;
    uint64_t pitch; /* elements from one line to the next */
    uint64_t each;  /* lines that a block takes */
} gr_conv_columns_params;

enum { GR_CONV_NAIVE_PIXELS = 8, GR_CONV_NAIVE_FILTERS = 4 }; /* of a warp of c0 in NHWC */

/* A dense array whose pixels lie channel by channel, to one whose channels lie pixel by pixel; filters and
   their taps likewise. A block takes `each` channels: of so many pixels, that come in units of so many bytes,
   or, with no unit, of all. */
typedef struct gr_conv_turn {
    uint64_t from, to;
    uint64_t channels, pixels;
    int64_t outer, channel; /* elements from one to the next */
    uint32_t blocks, parts, across;
    uint32_t each, unit;
} gr_conv_turn;

typedef struct gr_conv_turn_params {
    gr_conv_turn x, w; /* of 0 blocks where nothing is to be turned */
} gr_conv_turn_params;

enum {
    GR_CONV_TURN_THREADS = 256,
    GR_CONV_TURN_PIXELS = 64, /* of a block */
};

enum {
    GR_CONV_DEPTHWISE_THREADS = 128, /* of a block of convolutions whose groups have one channel each */
    GR_CONV_DEPTHWISE_EACH = 4,      /* results of a thread: columns in NHWC, rows in NCHW */
    /* The same where there are 3 x 3 taps: rows and columns of NHWC with strides of 1 and of 2, rows of NCHW.
     */
    GR_CONV_THREE_ROWS = 2,
    GR_CONV_THREE_COLUMNS = 4,
    GR_CONV_THREE_COLUMNS_2 = 2,
    GR_CONV_THREE_DOWN = 14,
    GR_CONV_THREE_DOWN_2 = 8,
};

enum {
    GR_CONV_NARROW_THREADS = 128, /* of a block of convolutions of 1 x 1 with few filters */
    GR_CONV_NARROW_EACH = 4,      /* pixels of a thread, */
    GR_CONV_NARROW_LANES = 8,     /* which is one of so many that share a pixel in NHWC */
};

#endif
