// Products of segments.
#include "segments.cuh"

GR_SEGMENT_ENTRIES(prod, SegmentProd)
