// Exact sums, means and dot products of few elements side by side.
#include "common/entry.cuh"
#include "exact/window.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_f32, gr_exact_params, sum_in_window<float, false>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_f16, gr_exact_params, sum_in_window<gr_f16, false>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_bf16, gr_exact_params, sum_in_window<gr_bf16, false>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_f64, gr_exact_params, sum_in_window<double, false>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_dot_f32, gr_exact_params, sum_in_window<float, true>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_dot_f16, gr_exact_params, sum_in_window<gr_f16, true>)
GR_ENTRY((GR_EXACT_WINDOW_THREADS, 2), exact_window_dot_bf16, gr_exact_params, sum_in_window<gr_bf16, true>)
