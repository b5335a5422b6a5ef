// Exact dot products.
#include "common/entry.cuh"
#include "exact/sum.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM), exact_dot_f32, gr_exact_params,
         sum_exactly<float, true, ProductBins<float>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM), exact_dot_f16, gr_exact_params,
         sum_exactly<gr_f16, true, ProductBins<gr_f16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM), exact_dot_bf16, gr_exact_params,
         sum_exactly<gr_bf16, true, ProductBins<gr_bf16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS, 1), exact_dot_f64, gr_exact_params,
         sum_exactly<double, true, ProductBins<double>>)
