// Running products.
#include "scan/scan.cuh"

GR_SCAN_ENTRIES(prod, RunningProd)
