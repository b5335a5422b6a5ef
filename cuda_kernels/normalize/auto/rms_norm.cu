// rms_norm of rows, in a warp, a block, or tiles of one block.
#include "normalize/entries.cuh"

GR_NORMALIZE_ENTRIES(rms_norm, RmsNorm)
