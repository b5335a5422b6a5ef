/* The parameters of convolution kernels: one struct per kernel family, passed by value as a
   __grid_constant__. C and CUDA read this file, so that it has only plain types of fixed size. A uint64_t
   named x, w, out, from or to is a device address. Index convention: x is a batch of images, w has the
   filters, one result pixel is one (image, row, column). */
#ifndef GR_CONV_PARAMS_H
#define GR_CONV_PARAMS_H

#include "matmul/params.h"

/* One spatial axis, height or width. Tap `k` of result `i` reads element i * stride + k * dilation - padding
   of x, or 0 where that index is outside of x. */
typedef struct gr_conv_axis {
    uint64_t size, kernel, out; /* elements of x, of w and of the result along this axis */
    uint64_t stride, dilation;  /* elements */
    int64_t padding;            /* zeros before the first element */
} gr_conv_axis;

/* Strides in elements. `outer` is the stride between images of x or of the result, or between filters of w.
 */
typedef struct gr_conv_strides {
    int64_t outer, row, column, channel;
} gr_conv_strides;

/* The convolution itself; the parameters of every kernel begin with it. Group g has filters
   [g * filters, (g + 1) * filters) and reads channels [g * channels, (g + 1) * channels). */
typedef struct gr_conv_params {
    uint64_t x, w, out;
    uint64_t batch;                     /* images */
    uint64_t groups, channels, filters; /* channels and filters per group */
    gr_conv_axis height, width;
    gr_conv_strides of_x, of_w, of_out;
} gr_conv_params;

/* Kernels on CUDA cores that compute tiles of some pixels by some filters of one group (c2, c2_ring, c3, c4),
   the kernels for 12 channels (c5 to c7) and Winograd's transforms. */
typedef struct gr_conv_tiles_params {
    gr_conv_params conv;
    uint64_t filter_tiles;     /* tiles along the filters of one group; Winograd: all tiles of 2 x 2 pixels */
    uint64_t filters;          /* filters per tile */
    uint64_t tiles_x, tiles_y; /* tiles per image, where a tile is a rectangle of pixels */
    uint64_t rows,
        columns; /* of x that one tile reads; c2_ring: `columns` is the row stride of the packed w */
    uint64_t channel_vec4s; /* vectors of 4 channels that shared memory holds at once */
} gr_conv_tiles_params;

/* Results per thread block, which kernels and planners share. */
enum {
    GR_CONV_C2_PIXELS = 128,
    GR_CONV_C2_FILTERS = 32,          /* max. */
    GR_CONV_C2_RING_FEW_FILTERS = 32, /* max. filters per block for which c2_ring does not transpose w */
    GR_CONV_WINOGRAD_BLOCK = 16,      /* filters and channels per block of the filter transform */
    GR_CONV_C3_ROWS = 8,
    GR_CONV_C3_COLUMNS = 64,
    GR_CONV_C3_FILTERS = 24,
    GR_CONV_C4_ROWS = 16,
    GR_CONV_C4_COLUMNS = 32,
    GR_CONV_C4_FILTERS = 24,
    GR_CONV_MMA_TILES_24 = 8, /* c5 to c7: tiles of 64 pixels in a block of 24 filters, of 32 and of 64 */
    GR_CONV_MMA_TILES_32 = 4,
    GR_CONV_MMA_TILES_64 = 4,
};

/* The kernels for 12 channels, 3 x 3 taps and strides of 1: results per block, and bytes of dynamic shared
   memory, which static_asserts in the kernels hold to what they use. In NCHW columns are loaded in pairs. */
enum {
    GR_CONV_C4_SHARED = 41632,
    GR_CONV_C12_THREADS = 256,
    GR_CONV_C12_FILTERS = 24,
    GR_CONV_C12_ROWS = 4,
    GR_CONV_C12_COLUMNS = 128,
    GR_CONV_C12_TF32_NHWC_SHARED = 47872, /* of the kernel of c5 that reads rows in the order of NHWC */
};
/* Bytes per element -> 16-byte vectors of channels; bytes per plane of these; bytes in all, where an element
   is split into `terms` terms: the planes, a plane of zeros, and the filters in whole k-steps. */
#define GR_CONV_C12_VEC16S(item_bytes) ((12 * (item_bytes) + 15) / 16)
#define GR_CONV_C12_PLANE(nhwc, item_bytes)                                                                  \
    (((GR_CONV_C12_ROWS + 2) * (GR_CONV_C12_COLUMNS + ((nhwc) ? 2u : 4u)) * 16 + 127) / 128 * 128 +          \
     (8 + GR_CONV_C12_VEC16S(item_bytes) - 1) / GR_CONV_C12_VEC16S(item_bytes) * 16)
#define GR_CONV_C12_SHARED(nhwc, item_bytes, terms)                                                          \
    ((terms)*GR_CONV_C12_VEC16S(item_bytes) * GR_CONV_C12_PLANE(nhwc, item_bytes) + 64 * 16 +                \
     (9 * GR_CONV_C12_VEC16S(item_bytes) + 1) / 2 * 2 * (terms)*GR_CONV_C12_FILTERS * 16)

/* Direct convolution on tensor cores (c5, c6, c7). The part of x that a block reads is in shared memory as
   16-byte vectors of channels (layout C/8 x H x W x 8 for 2-byte elements, C/4 x H x W x 4 for float32), one
   plane for each vector and for each column index modulo the stride. */
typedef struct gr_conv_mma_params {
    gr_conv_params conv;
    uint64_t filter_tiles;              /* along the filters of one group */
    uint64_t blocks_x, blocks_y;        /* thread blocks per image */
    uint64_t block_rows, block_columns; /* result pixels per thread block */
    uint64_t channels_last;             /* 1 if the layout is NHWC */
    uint64_t tile_8x8;                  /* 1 if the 64 pixels of a wgmma tile are 8 rows of 8, 0 if one row */
    uint64_t rows, columns;             /* of x that one thread block reads */
    uint64_t vec16s;                    /* 16-byte vectors of channels that shared memory holds at once */
    uint64_t pitch;                     /* 16-byte vectors from one row to the next */
    uint64_t plane;                     /* bytes from one plane to the next */
    uint64_t k_steps;                   /* MMA steps of two 16-byte vectors each, over all taps */
} gr_conv_mma_params;

/* One tap of an implicit GEMM by TMA. Several taps can share one box of x. */
typedef struct gr_conv_tap {
#ifdef __CUDACC__
    alignas(16)
#else
    _Alignas(16)
#endif
        uint32_t box_offset; /* bytes from the beginning of the box in shared memory to what this tap reads */
    int32_t dx, dy;          /* elements of x from what the first tap of the first result reads to the box */
    uint16_t index;          /* of the tap in the tensor map of w */
    uint8_t first, last;     /* 1 for the first and for the last tap of a box */
} gr_conv_tap;

enum {
    GR_CONV_MAX_TAPS = 64,
    GR_CONV_OUTPUT_STAGING_BYTES = 20480, /* shared memory in which the results of 128 pixels are staged */
};

/* Implicit GEMM by TMA (c8, c9). The tensor map of x has the dimensions channels, groups, columns, rows and
   images; that of w has channels, taps and filters. Each pixel of a box takes 128 bytes of shared memory. A
   thread block computes the results of one box in tiles of 64 pixels, the m of one wgmma instruction. */
typedef struct gr_conv_tma_params {
    gr_conv_params conv;
    uint32_t filter_tiles;                      /* along the filters of one group */
    uint32_t boxes_x, boxes_y;                  /* boxes per image */
    uint32_t box_columns, box_rows, box_images; /* result pixels of one box */
    uint32_t pitch, plane;                      /* pixels of a box from row to row, from image to image */
    uint32_t tiles_per_image, tiles_per_row;    /* tiles of 64 pixels */
    uint32_t tile_row_pitch;                    /* pixels of a box from one row of tiles to the next */
    uint32_t group8_pitch; /* pixels of a box from one group of 8 of a tile to the next */
    uint32_t box_bytes;    /* that TMA writes for one box of x */
    uint32_t x_stages, x_stage_bytes, w_stages; /* of the pipelines of x and of w */
    uint32_t box_count;                         /* of all images, groups and filter tiles */
    uint32_t output_offset; /* bytes of shared memory before staged results; 0: on the pipelines */
    uint32_t rounds;        /* parts of k that a block takes, one after the other */
    uint32_t taps;
    gr_conv_tap tap[GR_CONV_MAX_TAPS];
    gr_matmul_tensor_map x, w;
} gr_conv_tma_params;

/* Few channels (small C) on tensor cores (c5_few, c7_few). Rows of x are in shared memory in the order of
   NHWC, where the taps of one kernel row are contiguous: k runs over 16-byte vectors of such rows. A thread
   block computes one tile after the other. */
typedef struct gr_conv_small_c_params {
    gr_conv_params conv;
    uint64_t tiles;                 /* of all images */
    uint64_t tiles_x, tiles_y;      /* tiles per image */
    uint64_t m16_tiles, block_rows; /* a tile has 16 * m16_tiles columns and block_rows rows of pixels */
    uint64_t channels_last;         /* 1 if the layout is NHWC */
    uint64_t rows, columns;         /* of x that one tile reads */
    uint64_t pitch;                 /* elements from pixel to pixel */
    uint64_t row_bytes;             /* from row to row */
    uint64_t row_vec16s;            /* 16-byte vectors of the taps of one kernel row */
    uint64_t k_steps;               /* MMA steps of two 16-byte vectors each, over all kernel rows */
} gr_conv_small_c_params;

enum {
    GR_CONV_IM2COL_THREADS = 256,     /* per block */
    GR_CONV_IM2COL_MAX_LENGTH = 1024, /* elements of a line per block */
    GR_CONV_IM2COL_MAX_LINES = 256,   /* lines per block */
};

/* im2col (c1): writes the matrix of all elements that taps read to `out`. In NHWC a line is one pixel of one
   group with all taps; in NCHW a line is one tap of one group and image with all pixels. Of w only the size
   of the kernel is read. The same kernel copies arrays to a dense layout (a kernel of 1 x 1). */
typedef struct gr_conv_im2col_params {
    gr_conv_params conv;
    uint64_t lines, length;   /* lines of the matrix, elements per line */
    uint64_t pitch;           /* elements from one line to the next */
    uint64_t lines_per_block; /* at most GR_CONV_IM2COL_MAX_LINES */
} gr_conv_im2col_params;

enum { GR_CONV_NAIVE_PIXELS = 8, GR_CONV_NAIVE_FILTERS = 4 }; /* per warp of c0 in NHWC */

/* Transposes one array from NCHW to NHWC: images and their pixels, or filters and their taps. Or copies NHWC
   to pixels of more elements: then `pixels` counts those of all images, and `outer` is their stride. */
typedef struct gr_conv_transpose {
    uint64_t from, to;
    uint64_t channels, pixels;
    uint64_t pitch;         /* elements from pixel to pixel of `to`: a multiple of 16 bytes */
    uint64_t extent;        /* elements from the first one of `from` to behind the last one */
    int64_t outer, channel; /* strides of `from` in elements, between images and between channels */
    uint32_t blocks;        /* thread blocks; 0 if this array is not transposed */
    uint32_t channel_tiles, pixel_tiles;
    uint32_t tile_channels; /* channels per block; 0: `from` is in NHWC */
    uint32_t unit_bytes; /* per load of pixels: 16 or 8; 1: channels begin at any element; 0: a block copies
                            all pixels of its channels in one run */
} gr_conv_transpose;

typedef struct gr_conv_transpose_params {
    gr_conv_transpose x, w;
} gr_conv_transpose_params;

enum {
    GR_CONV_TRANSPOSE_THREADS = 256, /* per block */
    GR_CONV_TRANSPOSE_PIXELS = 64,   /* per block */
    GR_CONV_TRANSPOSE_VECS = 4,      /* of 16 bytes per thread, from NHWC */
};

/* Depthwise convolution in NHWC. The threads of a block have `lanes` vectors of filters, and rows * columns
   threads have the same. */
typedef struct gr_conv_depthwise_params {
    gr_conv_params conv;
    uint32_t chunks, lanes;    /* vectors of filters: `lanes` per chunk and block */
    uint32_t rows, columns;    /* threads of a tile along the rows and along the columns of an image */
    uint32_t tiles_x, tiles_y; /* per image */
    uint32_t tiles;            /* of all images */
    uint32_t pitch;            /* elements of shared memory from a tap to the next one */
} gr_conv_depthwise_params;

/* Depthwise convolution: one channel per group. */
enum {
    GR_CONV_DEPTHWISE_THREADS = 128,   /* per block */
    GR_CONV_DEPTHWISE_OUTPUTS = 4,     /* results per thread: columns in NHWC, rows in NCHW */
    GR_CONV_DEPTHWISE_SCALED_VECS = 2, /* vectors of 16 bytes per thread, 1 x 1 taps of dense arrays */
    /* Results per thread of the kernels for 3, 5 or 7 columns of taps in NHWC: rows and columns. */
    GR_CONV_DEPTHWISE_TILE_ROWS = 2,
    GR_CONV_DEPTHWISE_TILE_COLUMNS = 4,
    GR_CONV_DEPTHWISE_TILE_COLUMNS_STRIDE_2 = 2,
    /* Results per thread of the kernels for 3 x 3 taps: rows and columns in NHWC, rows in NCHW. */
    GR_CONV_DEPTHWISE_TALL_ROWS = 8, /* NCHW, with five or seven rows of taps, and with two columns */
    GR_CONV_DEPTHWISE_TALL_ROWS_STRIDE_2 = 4,
    GR_CONV_DEPTHWISE_3X3_ROWS = 2,
    GR_CONV_DEPTHWISE_3X3_COLUMNS = 4,
    GR_CONV_DEPTHWISE_3X3_COLUMNS_STRIDE_2 = 2,
    GR_CONV_DEPTHWISE_3X3_NCHW_ROWS_STRIDE_2 = 8,
};

/* Convolutions with few results or few filters per group. */
typedef struct gr_conv_small_params {
    gr_conv_params conv;
    uint32_t filter_tiles; /* of one group */
} gr_conv_small_params;

enum {
    GR_CONV_SMALL_THREADS = 128, /* per block */
};

/* Convolutions with few filters. */
enum {
    GR_CONV_FEW_THREADS = 256,     /* per block */
    GR_CONV_FEW_NHWC_RESULTS = 32, /* per warp: of 4 or of 8 filters */
    GR_CONV_FEW_PIECES_OF_8 = 128, /* of 32 elements of a filter, from which on 8 warps share pixels, not 4 */
    GR_CONV_FEW_PIXELS = 128,      /* per block in NCHW, of 4 or of 8 filters */
    GR_CONV_FEW_PIXELS_OF_16 = 64, /* per block in NCHW, of 16 filters */
};

/* Pointwise convolution (1 x 1) with few filters (small K). */
enum {
    GR_CONV_POINTWISE_THREADS = 128, /* per block */
    GR_CONV_POINTWISE_PIXELS = 4,    /* per thread */
    GR_CONV_POINTWISE_LANES = 8,     /* threads that share the channels of a pixel in NHWC */
};

/* Adds a bias per filter to the results of a convolution, in place. */
typedef struct gr_conv_bias_params {
    uint64_t out, bias;
    uint64_t count, filters; /* elements of the result; filters of all groups */
    uint64_t run;   /* consecutive results of one filter: 1 in NHWC, the pixels of an image in NCHW */
    int64_t stride; /* of the bias, elements */
} gr_conv_bias_params;

enum { GR_CONV_BIAS_THREADS = 256 /* per block */ };

#endif
