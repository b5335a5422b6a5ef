// e0: Kahan's sum, one per thread.
//
// What plain sums cost: every addition rounds, and the errors grow with the number of elements; sums with
// other grids have other bits.
// The change: a thread keeps the error of its last addition, and subtracts it from the next element (W.
// Kahan, 1965). Four additions instead of one, and the error of a thread no longer grows with its number of
// elements.
// What limits now: an element that is larger than the sum loses bits of the sum undetected, and errors of
// combining threads and blocks are lost as before. The counters show a tree of plain additions.
#include "exact/rungs.cuh"

using namespace gr::exact;

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e0_sum_f32(const gr_exact_rung_params p) {
    const float *in = reinterpret_cast<const float *>(p.in);
    float sum = 0, lost = 0;
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const float x = in[i] - lost, next = sum + x;
        lost = (next - sum) - x;
        sum = next;
    }
    const auto add = [](float a, float b) { return a + b; };
    if (combine_blocks(sum, add, p))
        *reinterpret_cast<float *>(p.out) = sum;
}
