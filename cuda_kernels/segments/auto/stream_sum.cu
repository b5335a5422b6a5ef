// Sums of segments of elements side by side; of numbers of true elements, too, and means.
#include "segments/row_streaming.cuh"

using namespace gr::segments;

GR_STREAM_ENTRY_OF(GR_STREAM_EXACT_BLOCKS_PER_SM, sum, real, SegmentExactSum<double>)
GR_STREAM_ENTRY(sum, whole, SegmentSum<int64_t>)
