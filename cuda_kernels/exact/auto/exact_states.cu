// States of many exact sums, and of sums of products that a float64 holds.
#include "exact/states.cuh"

GR_EXACT_STATES(exact_states_f32, float, false, GR_EXACT_THREADS, NarrowBins<float>)
GR_EXACT_STATES(exact_states_f16, gr_f16, false, GR_EXACT_THREADS, NarrowBins<gr_f16>)
GR_EXACT_STATES(exact_states_bf16, gr_bf16, false, GR_EXACT_HALF_THREADS, NarrowBins<gr_bf16>)
GR_EXACT_STATES(exact_states_f64, double, false, GR_EXACT_WIDE_THREADS, WideBins<>)
GR_EXACT_STATES(exact_states_dot_f32, float, true, GR_EXACT_WIDE_THREADS, ProductBins<float>)
GR_EXACT_STATES(exact_states_dot_f16, gr_f16, true, GR_EXACT_WIDE_THREADS, ProductBins<gr_f16>)
GR_EXACT_STATES(exact_states_dot_bf16, gr_bf16, true, GR_EXACT_WIDE_THREADS, ProductBins<gr_bf16>)
