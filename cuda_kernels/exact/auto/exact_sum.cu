// Exact sums and means. The bounds: threads of a block at most, blocks of a multiprocessor at least.
#include "common/entry.cuh"
#include "exact/sum.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_THREADS, 4), exact_sum_f32, gr_exact_params, sum_exactly<float, false, NarrowBins<float>>)
GR_ENTRY((GR_EXACT_THREADS, 4), exact_sum_f16, gr_exact_params,
         sum_exactly<gr_f16, false, NarrowBins<gr_f16>>)
GR_ENTRY((GR_EXACT_HALF_THREADS, 2), exact_sum_bf16, gr_exact_params,
         sum_exactly<gr_bf16, false, NarrowBins<gr_bf16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS, 1), exact_sum_f64, gr_exact_params, sum_exactly<double, false, WideBins<>>)
