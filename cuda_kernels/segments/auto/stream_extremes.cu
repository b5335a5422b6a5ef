// Least and largest elements of segments, and where they are, of elements side by side.
#include "segments/row_streaming.cuh"

using namespace gr::segments;

GR_STREAM_ENTRIES(min, SegmentMin)
GR_STREAM_ENTRIES(max, SegmentMax)
GR_STREAM_ENTRIES(argmin, SegmentArgMin)
GR_STREAM_ENTRIES(argmax, SegmentArgMax)
