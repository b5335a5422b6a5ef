// expect: race
// The result is fetched before the barrier that ends the last round, not after it.
extern "C" __global__ void missing_barrier_before_result(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            slots[t] += slots[t + stride];
    }
    const float sum = slots[0];
    __syncthreads();
    if (t == 64)
        out[blockIdx.x] = sum;
}
