// Sums of segments of elements side by side; of numbers of true elements, too, and means.
#include "segments/row_streaming.cuh"

using namespace gr::segments;

GR_STREAM_ENTRIES(sum, SegmentSum)
