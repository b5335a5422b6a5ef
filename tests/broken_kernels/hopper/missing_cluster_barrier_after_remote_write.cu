// expect: race, uninitialised
// A block reads what another one writes to it.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(3, 1, 1)
    missing_cluster_barrier_after_remote_write(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    auto cluster = cg::this_cluster();
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float *next = cluster.map_shared_rank(slots, (cluster.block_rank() + 1) % 3);
    next[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    out[i] = slots[t];
    cluster.sync(); // no block's shared memory ends while others use it
}
