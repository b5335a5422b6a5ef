// Products of segments of elements side by side.
#include "segments/row_streaming.cuh"

using namespace gr::segments;

GR_STREAM_ENTRIES(prod, SegmentProd)
