// expect: race
// `<=` for `<`: thread `stride` writes the slot that thread 0 reads in the same round.
extern "C" __global__ void wrong_guard(const float *in, float *out, unsigned n) {
    __shared__ float slots[129];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    if (t == 0)
        slots[128] = 0.0f;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t <= stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
