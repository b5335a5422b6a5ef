// Bits of segments.
#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRY(bitwise_and, whole, SegmentAnd<int64_t>)
GR_SEGMENT_ENTRY(bitwise_or, whole, SegmentOr<int64_t>)
GR_SEGMENT_ENTRY(bitwise_xor, whole, SegmentXor<int64_t>)
