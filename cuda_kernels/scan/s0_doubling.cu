// s0: a launch per doubling.
//
// The task: element i of the result is the sum of the elements 0 to i. A thread that adds them all one after
// the other is a chain as long as the array.
// The method: the first launch adds to each element the one before it, the next launch the one two places
// before it, then four, eight and so on (W. D. Hillis and G. L. Steele, 1986). After k launches, an element
// is the sum of the 2^k elements up to it.
// What limits it: traffic and additions. For n elements, each of the log2(n) launches reads and writes all of
// them, and the additions are n log2(n), where one thread would need n - 1.
// Where it shows: log2(n) launches; log2(n) times the sectors of a copy.
#include "scan/rungs.cuh"

using namespace gr::scan;

extern "C" __global__ void __launch_bounds__(GR_SCAN_RUNG_THREADS) s0_pass_f32(const gr_scan_rung_params p) {
    const Rung rung(p);
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < p.count)
        rung.to[i] = i >= p.distance ? rung.from[i - p.distance] + rung.from[i] : rung.from[i];
}
