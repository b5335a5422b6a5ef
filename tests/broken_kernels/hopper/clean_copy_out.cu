// expect: nothing
// A bulk copy out of shared memory, behind a fence, and waited for before its place is written again.
#include "copies.cuh"

extern "C" __global__ void clean_copy_out(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    const unsigned t = threadIdx.x;
    slots[t] = in[t] + float(n);
    fence();
    __syncthreads();
    if (t == 0) {
        copy_out(out + 128 * blockIdx.x, slots, sizeof slots);
        wait_for_reads();
    }
    __syncthreads();
    slots[t] = 0;
}
