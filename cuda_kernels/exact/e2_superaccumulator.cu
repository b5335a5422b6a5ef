// e2: one wide integer a block, by atomics.
//
// What e1 cost: six additions an element, and still no sum that is right.
// The change: no floating-point addition at all. Every float32 is a whole number of units of 2^-149, so that
// a block's sum is an integer, of digits of 32 bits in 64, which leave space for carries until the end (U.
// Kulisch's accumulator). Each element goes to the two or three digits that it overlaps; blocks add their
// digits to one state, and the last one rounds, once. The result is exact: it depends on no order. What
// limits now: elements of like size go to the same digits, one atomic after the other. The counters show two
// or three atomics an element where a plain sum has none.
#include "exact/rungs.cuh"

using namespace gr::exact;

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e2_sum_f32(const gr_exact_rung_params p) {
    const float *in = reinterpret_cast<const float *>(p.in);
    clear_state();
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        add_number(in[i]);
    finish_state(p);
}
