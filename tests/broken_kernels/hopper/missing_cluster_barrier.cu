// expect: race, uninitialised
// A barrier of the block says nothing of what another block has written.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(3, 1, 1)
    missing_cluster_barrier(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    auto cluster = cg::this_cluster();
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float *next = cluster.map_shared_rank(slots, (cluster.block_rank() + 1) % 3);
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    out[i] = next[t];
    cluster.sync(); // no block's shared memory ends while others use it
}
