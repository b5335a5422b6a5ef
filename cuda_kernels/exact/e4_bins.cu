// e4: bins of a thread's own, by exponent.
//
// What e3 cost: a branch that depends on the data, and atomics behind it.
// The change: a thread has 16 doubles in shared memory, and the upper four bits of an element's exponent say
// to which it is added. What goes to one lies within 40 bits, so that a double takes 8,192 of them without a
// rounding (the binning of J. Demmel and H. D. Nguyen, but exact). Bins of one thread lie in one column,
// whose banks are its own. Now and then a warp sums a bin over all threads, as integers, into the digits.
// This is what `auto` runs (exact/bins.cuh, exact/sum.cuh), with 16 bytes a load. What limits now: a load and
// a store of shared memory an element, which hide behind the array's own loads. The counters show neither
// bank conflicts nor atomics but for a few at the end, whatever the data.
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
