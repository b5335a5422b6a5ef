// Exact sums and means of many results.
#include "exact/each.cuh"

GR_EXACT_EACH(exact_each_f32, float, GR_EXACT_THREADS, NarrowBins<float>)
GR_EXACT_EACH(exact_each_f16, gr_f16, GR_EXACT_THREADS, NarrowBins<gr_f16>)
GR_EXACT_EACH(exact_each_bf16, gr_bf16, GR_EXACT_HALF_THREADS, NarrowBins<gr_bf16>)
GR_EXACT_EACH(exact_each_f64, double, GR_EXACT_WIDE_THREADS, WideBins<>)
