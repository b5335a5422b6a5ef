// e4: bins per thread, by exponent.
//
// What e3 cost: a branch that depends on the data, and atomics after it.
// The change: a thread has 16 doubles in shared memory, and the upper four bits of an element's exponent
// select the one to which it is added. The elements of one bin are within 40 bits, so a double holds the sum
// of 8,192 of them without rounding (the binning of J. Demmel and H. D. Nguyen, but exact). The bins of one
// thread are in one column, whose banks no other thread uses. Now and then a warp sums a bin over all
// threads, as integers, into the digits. `auto` runs this algorithm (exact/bins.cuh, exact/sum.cuh), with
// 16-byte loads. What limits now: a load and a store of shared memory per element, which overlap the array's
// own loads. The counters show neither bank conflicts nor atomics, except for a few at the end, for any data.
#include "exact/rungs.cuh"
#include "exact/sum.cuh"

using namespace gr::exact;

extern "C" __global__ void __launch_bounds__(GR_EXACT_THREADS) e4_sum_f32(const gr_exact_rung_params p) {
    gr_exact_params all = {};
    all.count = p.count;
    NarrowBins<float> bins(block_bins<NarrowBins<float>>());
    clear_state();
    bins.open();
    Folder<NarrowBins<float>> folder = {bins, 0, GR_EXACT_NARROW_FOLD};
    add_packed<float, false>(all, p.in, 0, folder);
    fold(bins);
    finish_state(p);
}
