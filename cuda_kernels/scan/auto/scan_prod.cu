// Running products. Integers are multiplied in 64 bits, whatever they are loaded as.
#include "scan/scan.cuh"

GR_SCAN_ENTRY(prod, f32, RunningProd<float>, 4)
GR_SCAN_ENTRY(prod, f64, RunningProd<double>, 4)
GR_SCAN_ENTRY(prod, i64, RunningProd<int64_t>, 4)
GR_SCAN_ENTRY(prod, f16, RunningProd<gr_f16>, 4)
GR_SCAN_ENTRY(prod, bf16, RunningProd<gr_bf16>, 4)
GR_SCAN_ENTRY(prod, c64, RunningProd<gr_c64>, 4)
GR_SCAN_ENTRY(prod, c128, RunningProd<gr_c128>, 4)
