// e1: sums with their errors, in a tree.
//
// What e0 cost: only the low bits of a small element are kept, and only within a thread.
// The change: an addition returns its sum and, whichever operand is larger, its exact error (D. Knuth's
// two-sum, six additions). Threads, block and grid combine pairs of both; errors are summed in addition to
// the sums (A. Neumaier, 1974). What limits now: the errors are summed with rounding. Two floats hold 48
// bits, so a sum under cancellation is as wrong as a plain one of twice the precision, and its bits still
// depend on the order.
#include "exact/rungs.cuh"

using namespace gr::exact;

struct SumAndError {
    float sum, error;
};

inline __device__ SumAndError two_sum(float a, float b) {
    const float sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e1_sum_f32(const gr_exact_rung_params p) {
    const float *in = reinterpret_cast<const float *>(p.in);
    const auto add = [](SumAndError a, SumAndError b) {
        SumAndError both = two_sum(a.sum, b.sum);
        both.error += a.error + b.error;
        return both;
    };
    SumAndError sum = {0, 0};
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        sum = add(sum, {in[i], 0});
    // Of infinity there is no error: what two-sum makes of it is NaN.
    if (combine_blocks(sum, add, p))
        *reinterpret_cast<float *>(p.out) = isfinite(sum.sum) ? sum.sum + sum.error : sum.sum;
}
