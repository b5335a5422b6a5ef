// log_softmax of rows, in a warp, a block, or tiles of one block.
#include "normalize/entries.cuh"

GR_NORMALIZE_ENTRIES(log_softmax, LogSoftmax)
