// expect: race
// All arrive when they have read, but no warp waits for that before the next copy.
#include "copies.cuh"

extern "C" __global__ void missing_wait_before_refill(const float *in, float *out, unsigned n) {
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

            copy(slots, in + 128, sizeof slots, &full);
        }
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}
