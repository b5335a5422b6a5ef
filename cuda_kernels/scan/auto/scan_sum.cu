// Running sums.
#include "scan/columns.cuh"

using namespace gr::scan;

GR_SCAN_ENTRIES(sum, RunningSum)
GR_COLUMN_ENTRIES(sum, RunningSum)
