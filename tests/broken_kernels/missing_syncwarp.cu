// expect: race
// The last warp as it is often printed: volatile, and trust in lanes that run in step.
extern "C" __global__ void missing_syncwarp(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (t < 64)
        slots[t] += slots[t + 64];
    __syncthreads();
    if (t < 32) {
        for (unsigned stride = 32; stride > 0; stride /= 2)
            slots[t] += slots[t + stride];
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
