// Running products.
#include "scan/scan.cuh"

using namespace gr::scan;

GR_SCAN_ENTRIES(prod, RunningProd)
