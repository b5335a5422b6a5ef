// Sums of segments; of numbers of true elements, too, and means.
#include "reduce/flat/params.h"

#define GR_FLAT_SLOT_BYTES 112 // States of up to 56 bytes: of complex sums, and flags

#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRY(sum, real, SegmentExactSum<double>)
GR_SEGMENT_ENTRY(sum, whole, SegmentSum<int64_t>)
GR_SEGMENT_ENTRY(sum, pair, SegmentExactSum<ComplexParts<double>>)
GR_SEGMENT_ENTRY(mean, whole, SegmentWholeMean<int64_t>)
