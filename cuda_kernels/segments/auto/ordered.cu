// Products and variances of segments, in an order that follows from the length of a segment.
#include "grid/large_states.cuh"

#include "segments/ordered.cuh"
#include "segments/spread.cuh"

using namespace gr::segments;

GR_ORDERED_ENTRIES(prod, real, GR_ORDERED_SMALL_BLOCKS_PER_SM, OrderedProd<double>)
GR_ORDERED_ENTRY(prod, pair_wide, GR_ORDERED_BLOCKS_PER_SM, OrderedProd<ComplexParts<double>>, true)
GR_ORDERED_ENTRIES(var, real, GR_ORDERED_BLOCKS_PER_SM, OrderedVar)
