/* Tiles of C by the size of a product: tiles.def. */
#ifndef GR_MATMUL_TILES_H
#define GR_MATMUL_TILES_H

#include "matmul/common.h"

/* The tile of C that a block makes, its threads, and the blocks that share k. */
typedef struct gr_matmul_tiling {
    uint32_t rows, columns, threads, parts;
} gr_matmul_tiling;

/* The one of tiles.def that takes least, and how many parts. */
gr_matmul_tiling gr_matmul_tile(const gr_matmul *self, const gr_matmul_variant *variant);

#endif
