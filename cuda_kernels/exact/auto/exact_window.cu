// Exact sums and means of few elements side by side.
#include "exact_window.cuh"

GR_EXACT_WINDOW(exact_window_f32, float)
GR_EXACT_WINDOW(exact_window_f16, gr_f16)
GR_EXACT_WINDOW(exact_window_bf16, gr_bf16)
GR_EXACT_WINDOW(exact_window_f64, double)
