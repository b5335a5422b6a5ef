// Running sums.
#include "scan/scan.cuh"

using namespace gr::scan;

GR_SCAN_ENTRIES(sum, RunningSum)
