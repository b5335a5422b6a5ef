// Sums of segments; of numbers of true elements, too, and means.
#include "segments/segments.cuh"

GR_SEGMENT_ENTRIES(sum, SegmentSum)
