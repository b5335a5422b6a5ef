// Products of segments.
#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRIES(prod, SegmentProd)
