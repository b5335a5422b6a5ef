/* Tiles of C by the size of a product: tiles.def. */
#ifndef GR_MATMUL_TILES_H
#define GR_MATMUL_TILES_H

#include "matmul/common.h"

/* The tile of C that a block makes, its threads, the blocks of a cluster that share k, and the slices into
   which k is cut before. */
typedef struct gr_matmul_tiling {
    const gr_matmul_variant *variant;
    uint32_t rows, columns, threads, cluster, slices;
} gr_matmul_tiling;

/* Whether a rung has tiles there: it then takes sides that lie in any way. */
bool gr_matmul_has_tiles(const gr_matmul_variant *variant);

/* The one that takes least of those of a rung; NULL: of all. */
gr_matmul_tiling gr_matmul_choose_tiling(const gr_matmul *self, const gr_matmul_variant *variant);

#endif
