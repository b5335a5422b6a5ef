// log_softmax of long rows, whose tiles a cluster of blocks shares.
#include "normalize/entries.cuh"

GR_TILES_ENTRIES(cluster, true, log_softmax, LogSoftmax)
