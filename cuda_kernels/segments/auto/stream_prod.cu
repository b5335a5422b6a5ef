// Products of segments of elements side by side.
#include "segments/row_streaming.cuh"

GR_STREAM_ENTRIES(prod, SegmentProd)
