// expect: race
// A shuffle brings the lanes together, but CUDA does not say that it orders their memory accesses.
extern "C" __global__ void shuffle_is_no_barrier(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    const float x = i < n ? in[i] : 0.0f;
    slots[t] = x;
    const float other = __shfl_xor_sync(0xffffffffu, x, 2);
    out[i] = slots[t ^ 1] + other;
}
