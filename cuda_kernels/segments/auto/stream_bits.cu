// Bits of segments of elements side by side.
#include "segments/row_streaming.cuh"

using namespace gr::segments;

GR_STREAM_ENTRY(bitwise_and, whole, SegmentAnd<int64_t>)
GR_STREAM_ENTRY(bitwise_or, whole, SegmentOr<int64_t>)
GR_STREAM_ENTRY(bitwise_xor, whole, SegmentXor<int64_t>)
