// expect: race
// In each warp one lane waits for the copy, and tells no other lane.
#include "copies.cuh"

extern "C" __global__ void missing_syncwarp_after_wait(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    __shared__ alignas(8) uint64_t full;
    const unsigned t = threadIdx.x;
    if (t == 0)
        open(&full, 1);
    __syncthreads();
    if (t == 0)
        copy(slots, in, sizeof slots, &full);
    if (t % 32 == 0)
        wait(&full, 0);
    out[blockIdx.x * blockDim.x + t] = slots[127 - t] + float(n);
}
