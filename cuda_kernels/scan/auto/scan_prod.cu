// Running products.
#include "scan/columns.cuh"

using namespace gr::scan;

GR_SCAN_ENTRIES(prod, RunningProd)
GR_COLUMN_ENTRIES(prod, RunningProd)
