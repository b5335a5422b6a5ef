// e2: one wide integer per block, by atomics.
//
// What e1 cost: six additions per element, and the sum is still not exact.
// The change: no floating-point addition at all. Every float32 is an integer multiple of 2^-149, so a block's
// sum is an integer, in digits of 32 bits stored in 64, which leave space for carries until the end (U.
// Kulisch's superaccumulator). Each element is added to the two or three digits that it overlaps; blocks add
// their digits to one state, and the last one rounds, once. The result is exact, and independent of the
// order. What limits now: elements of similar magnitude are added to the same digits, one atomic after the
// other. The counters show two or three atomics per element, where a plain sum has none.
#include "exact/rungs.cuh"

using namespace gr::exact;

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e2_sum_f32(const gr_exact_rung_params p) {
    const float *in = reinterpret_cast<const float *>(p.in);
    clear_state();
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        add_number(in[i]);
    finish_state(p);
}
