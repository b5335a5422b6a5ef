// States of many exact sums, and of sums of products that a float64 holds.
#include "common/entry.cuh"
#include "exact/each.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_THREADS), exact_states_f32, gr_exact_params, states_alone<float, false, NarrowBins<float>>)
GR_ENTRY((GR_EXACT_THREADS), exact_states_f16, gr_exact_params,
         states_alone<gr_f16, false, NarrowBins<gr_f16>>)
GR_ENTRY((GR_EXACT_HALF_THREADS), exact_states_bf16, gr_exact_params,
         states_alone<gr_bf16, false, NarrowBins<gr_bf16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS), exact_states_f64, gr_exact_params, states_alone<double, false, WideBins<>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS), exact_states_dot_f32, gr_exact_params,
         states_alone<float, true, ProductBins<float>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS), exact_states_dot_f16, gr_exact_params,
         states_alone<gr_f16, true, ProductBins<gr_f16>>)
GR_ENTRY((GR_EXACT_WIDE_THREADS), exact_states_dot_bf16, gr_exact_params,
         states_alone<gr_bf16, true, ProductBins<gr_bf16>>)
