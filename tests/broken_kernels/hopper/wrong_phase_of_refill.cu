// expect: race
// The copy waits until the place is empty, but for the phase before, which ended before anybody read.
#include "copies.cuh"

extern "C" __global__ void wrong_phase_of_refill(const float *in, float *out, unsigned n) {
    __shared__ alignas(16) float slots[128];
    __shared__ alignas(8) uint64_t full, empty;
    const unsigned t = threadIdx.x;
    if (t == 0) {
        open(&full, 1);
        open(&empty, 128);
        copy(slots, in, sizeof slots, &full);
    }
    __syncthreads();
    float sum = float(n);
    for (unsigned k = 0; k < 2; k++) {
        wait(&full, k);
        sum += slots[127 - t];
        arrive(&empty);
        if (t == 0 && k == 0) {
            wait_a_while(&empty, 1);
            copy(slots, in + 128, sizeof slots, &full);
        }
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}
