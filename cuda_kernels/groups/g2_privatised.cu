// g2: privatised in shared memory.
//
// What g1 still cost: passes over all elements, only to have those of a group in one place.
// The change: back to g0's atomics, but a block has sums of its own in shared memory, next to its threads
// (privatisation). Only at the end it adds them to the sums in memory: one atomic operation per block and
// group instead of one per element.
// What limits it now: the sums of all groups have to fit the shared memory of a block, and clearing and
// publishing them must be cheap compared with the elements. And the bits: they depend on the order of
// threads, as in g0, now within the block, too.
// Where it shows: sectors fall to those of a single read, as atomics in memory fall from one per element
// to one per block and group; wavefronts of shared memory take their place.
#include "groups/rungs.cuh"

using namespace gr::groups;

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g2_sum_f32(const gr_group_rung_params p) {
    const Rung rung(p);
    float *sums = shared_array<float>();
    for (unsigned g = threadIdx.x; g < p.groups; g += blockDim.x)
        sums[g] = 0;
    __syncthreads();
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const int32_t label = rung.labels[i];
        if (is_group(label, p))
            atomicAdd(&sums[label], rung.values[i]);
    }
    __syncthreads();
    for (unsigned g = threadIdx.x; g < p.groups; g += blockDim.x)
        if (sums[g] != 0)
            atomicAdd(&rung.out[g], sums[g]);
}
