// Products of integers in segments.
#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRY(prod, whole, SegmentProd<int64_t>)
