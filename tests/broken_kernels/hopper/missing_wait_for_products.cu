// expect: race
// The tile is written anew while the tensor cores may still read it: the wait comes too late.
#include "products.cuh"

extern "C" __global__ void missing_wait_for_products(const float *in, float *out, unsigned n) {
    __shared__ alignas(128) float slots[64];
    const unsigned t = threadIdx.x;
    float sums[4] = {float(n)};
    const uint32_t a[4] = {__float_as_uint(in[t]), t, t, t};
    for (unsigned k = 0; k < 2; k++) {
        if (t < 64)
            slots[t] = in[64 * k + t];
        fence();
        __syncthreads();
        begin_products();
        multiply(sums, a, tile_of(slots));
        __syncthreads();
    }
    wait_for_products();
    out[blockIdx.x * blockDim.x + t] = sums[0] + sums[3];
}
