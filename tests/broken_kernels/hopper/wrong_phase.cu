// expect: race
// The wait is for the phase before, and returns at once; the one that is waited for comes after the reads.
#include "copies.cuh"

extern "C" __global__ void wrong_phase(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    __shared__ alignas(8) uint64_t full;
    const unsigned t = threadIdx.x;
    if (t == 0)
        open(&full, 1);
    __syncthreads();
    if (t == 0)
        copy(slots, in, sizeof slots, &full);
    __syncthreads();
    wait_a_while(&full, 1);
    const float got = slots[127 - t];
    wait(&full, 0);
    out[blockIdx.x * blockDim.x + t] = got + float(n);
}
