// Least and largest elements of segments, and where they are.
#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRIES(min, SegmentMin)
GR_SEGMENT_ENTRIES(max, SegmentMax)
GR_SEGMENT_ENTRIES(argmin, SegmentArgMin)
GR_SEGMENT_ENTRIES(argmax, SegmentArgMax)
