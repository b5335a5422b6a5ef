// Cumulative sums with exact=True: of pieces, of the pieces before each, and of all elements.
#include "common/entry.cuh"
#include "exact/running.cuh"

using namespace gr::exact;

GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_pieces_f32, gr_exact_scan_params, sum_pieces<float>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_pieces_f16, gr_exact_scan_params, sum_pieces<gr_f16>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_pieces_bf16, gr_exact_scan_params, sum_pieces<gr_bf16>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_pieces_f64, gr_exact_scan_params, sum_pieces<double>)
GR_ENTRY((GR_EXACT_PREFIX_THREADS), exact_totals, gr_exact_scan_params, sum_chunks)
GR_ENTRY((GR_EXACT_PREFIX_THREADS), exact_prefix, gr_exact_scan_params, sum_before_pieces)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_scan_f32, gr_exact_scan_params, round_sums<float>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_scan_f16, gr_exact_scan_params, round_sums<gr_f16>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_scan_bf16, gr_exact_scan_params, round_sums<gr_bf16>)
GR_ENTRY((GR_EXACT_SCAN_THREADS), exact_scan_f64, gr_exact_scan_params, round_sums<double>)
