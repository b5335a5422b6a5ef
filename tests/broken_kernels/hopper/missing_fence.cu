// expect: unfenced
// No fence: the copy may not see what the threads have written.
#include "copies.cuh"

extern "C" __global__ void missing_fence(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    const unsigned t = threadIdx.x;
    slots[t] = in[t] + float(n);
    __syncthreads();
    if (t == 0) {
        copy_out(out + 128 * blockIdx.x, slots, sizeof slots);
        wait_for_reads();
    }
    __syncthreads();
    slots[t] = 0;
}
