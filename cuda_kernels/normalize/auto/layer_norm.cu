// layer_norm of rows, in a warp, a block, or tiles of one block.
#include "normalize/entries.cuh"

GR_NORMALIZE_ENTRIES(layer_norm, LayerNorm)
