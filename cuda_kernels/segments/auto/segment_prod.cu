// Products of segments.
#include "segments/segments.cuh"

GR_SEGMENT_ENTRIES(prod, SegmentProd)
