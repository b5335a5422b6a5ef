// Exact sums, means and dot products of few elements side by side.
#include "exact/window.cuh"

GR_EXACT_WINDOW(exact_window_f32, float, false)
GR_EXACT_WINDOW(exact_window_f16, gr_f16, false)
GR_EXACT_WINDOW(exact_window_bf16, gr_bf16, false)
GR_EXACT_WINDOW(exact_window_f64, double, false)
GR_EXACT_WINDOW(exact_window_dot_f32, float, true)
GR_EXACT_WINDOW(exact_window_dot_f16, gr_f16, true)
GR_EXACT_WINDOW(exact_window_dot_bf16, gr_bf16, true)
