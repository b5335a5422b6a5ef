// Running sums. Integers are added in 64 bits, whatever they are loaded as.
#include "scan/scan.cuh"

GR_SCAN_ENTRY(sum, f32, RunningSum<float>, 4)
GR_SCAN_ENTRY(sum, f64, RunningSum<double>, 4)
GR_SCAN_ENTRY(sum, i64, RunningSum<int64_t>, 4)
GR_SCAN_ENTRY(sum, f16, RunningSum<gr_f16>, 4)
GR_SCAN_ENTRY(sum, bf16, RunningSum<gr_bf16>, 4)
GR_SCAN_ENTRY(sum, c64, RunningSum<gr_c64>, 4)
GR_SCAN_ENTRY(sum, c128, RunningSum<gr_c128>, 4)
