// Products of segments of elements side by side.
#include "segment_streams.cuh"

GR_STREAM_ENTRIES(prod, SegmentProd)
