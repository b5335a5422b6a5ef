// expect: race, uninitialised
// The tree starts before the other warps have stored their elements.
extern "C" __global__ void missing_barrier_after_load(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
