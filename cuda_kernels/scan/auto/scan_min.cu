// Running minima.
#include "scan/extremes.cuh"

using namespace gr::scan;

GR_EXTREME_ENTRIES(min, RunningMin)
