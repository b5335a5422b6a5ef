// Running sums.
#include "scan/scan.cuh"

GR_SCAN_ENTRIES(sum, RunningSum)
