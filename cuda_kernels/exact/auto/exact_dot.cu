// Exact dot products.
#include "exact/sum.cuh"

GR_EXACT_ENTRY(exact_dot_f32, float, true, GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM,
               ProductBins<float>)
GR_EXACT_ENTRY(exact_dot_f16, gr_f16, true, GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM,
               ProductBins<gr_f16>)
GR_EXACT_ENTRY(exact_dot_bf16, gr_bf16, true, GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM,
               ProductBins<gr_bf16>)
GR_EXACT_ENTRY(exact_dot_f64, double, true, GR_EXACT_WIDE_THREADS, 1, ProductBins<double>)
