// expect: race
// The place is written again while the copy may still read it: it is waited for too late.
#include "copies.cuh"

extern "C" __global__ void missing_wait_for_reads(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    const unsigned t = threadIdx.x;
    slots[t] = in[t] + float(n);
    fence();
    __syncthreads();
    if (t == 0) {
        copy_out(out + 128 * blockIdx.x, slots, sizeof slots);
    }
    __syncthreads();
    slots[t] = 0;
    if (t == 0)
        wait_for_reads();
}
