// expect: nothing
// Everybody waits for the copy.
#include "copies.cuh"

extern "C" __global__ void clean_copy(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    __shared__ alignas(8) uint64_t full;
    const unsigned t = threadIdx.x;
    if (t == 0)
        open(&full, 1);
    __syncthreads();
    if (t == 0)
        copy(slots, in, sizeof slots, &full);
    wait(&full, 0);
    out[blockIdx.x * blockDim.x + t] = slots[127 - t] + float(n);
}
