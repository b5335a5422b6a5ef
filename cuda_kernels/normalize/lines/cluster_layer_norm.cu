// layer_norm of long rows, whose tiles a cluster of blocks shares.
#include "normalize/entries.cuh"

GR_TILES_ENTRIES(cluster, true, layer_norm, LayerNorm)
