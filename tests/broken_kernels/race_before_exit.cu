// expect: race
// A thread of another warp fetches the sum without waiting for the last round; no barrier follows.
extern "C" __global__ void race_before_exit(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            slots[t] += slots[t + stride];
    }
    if (t == 64)
        out[blockIdx.x] = slots[0];
}
