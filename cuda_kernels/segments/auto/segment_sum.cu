// Sums of segments; of numbers of true elements, too, and means.
#include "segments/segments.cuh"

using namespace gr::segments;

GR_SEGMENT_ENTRIES(sum, SegmentSum)
