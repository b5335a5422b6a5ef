// Exact sums and means of many results.
#include "common/entry.cuh"
#include "exact/each.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_THREADS), exact_each_f32, gr_exact_params, sum_alone<float, NarrowBins<float>>)
GR_ENTRY((GR_EXACT_THREADS), exact_each_f16, gr_exact_params, sum_alone<gr_f16, NarrowBins<gr_f16>>)
GR_ENTRY((GR_EXACT_HALF_THREADS), exact_each_bf16, gr_exact_params, sum_alone<gr_bf16, NarrowBins<gr_bf16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS), exact_each_f64, gr_exact_params, sum_alone<double, WideBins<>>)
