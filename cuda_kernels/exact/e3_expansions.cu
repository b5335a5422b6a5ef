// e3: two doubles per thread before the wide integer.
//
// What e2 cost: atomics for every element.
// The change: a thread first adds to two doubles, the second of which receives the error of the first, by
// two-sum. Only the error of the second is added to the digits (S. Collange, D. Defour, S. Graillat and R.
// Iakymchuk, 2015). Two doubles hold some 100 bits: elements of similar magnitude never leave an error. What
// limits now: the data. Elements of all magnitudes leave an error nearly every time, which is then as slow as
// before, and lanes without an error wait for the others. The counters show divergence.
#include "exact/rungs.cuh"

using namespace gr::exact;

// Leaves the sum in a and what was lost in b.
inline __device__ void two_sum(double &a, double &b) {
    const double sum = a + b, part = sum - a;
    b = (a - (sum - part)) + (b - part);
    a = sum;
}

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e3_sum_f32(const gr_exact_rung_params p) {
    const float *in = reinterpret_cast<const float *>(p.in);
    clear_state();
    double high = 0, low = 0;
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        double x = in[i];
        if (!isfinite(x)) { // would spoil both
            add_number(x);
            continue;
        }
        two_sum(high, x);
        two_sum(low, x);
        if (x != 0)
            add_number(x);
    }
    add_number(high);
    add_number(low);
    finish_state(p);
}
