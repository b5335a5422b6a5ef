// Exact sums and means.
#include "exact/sum.cuh"

GR_EXACT_ENTRY(exact_sum_f32, float, false, GR_EXACT_THREADS, 4, NarrowBins<float>)
GR_EXACT_ENTRY(exact_sum_f16, gr_f16, false, GR_EXACT_THREADS, 4, NarrowBins<gr_f16>)
GR_EXACT_ENTRY(exact_sum_bf16, gr_bf16, false, GR_EXACT_HALF_THREADS, 2, NarrowBins<gr_bf16>)
GR_EXACT_ENTRY(exact_sum_f64, double, false, GR_EXACT_WIDE_THREADS, 1, WideBins<>)
