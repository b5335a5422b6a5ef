// g0: atomics on floats.
//
// The task: values[i] belongs to the group labels[i]; each group is to have the sum of its elements. A
// thread per group would have to read all labels.
// The method: a thread takes an element, and adds it to the sum of its group in memory. As other threads
// do so at the same time, the addition is atomic: read, add and write are one operation of the L2 cache.
// What limits it: additions to one address come one after the other, so a few groups take longer than
// many. And additions of floats are not associative: (a + b) + c rounds otherwise than a + (b + c). The
// order of threads is not defined, so each run may return other bits. The hardware also takes subnormal
// sums for zero.
// Where it shows: an atomic instruction for each load of elements, and nearly a sector for each element;
// other bits with GPUREDUCE_SIM_BLOCK_ORDER=1, which permutes the order of blocks on the simulator.
#include "groups/rungs.cuh"

using namespace gr::groups;

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g0_sum_f32(const gr_group_rung_params p) {
    const Rung rung(p);
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const int32_t label = rung.labels[i];
        if (is_group(label, p))
            atomicAdd(&rung.out[label], rung.values[i]);
    }
}
