// expect: race
// Each step waits for all writes, but not for all reads before it writes.
extern "C" __global__ void missing_syncwarp_before_write(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (t < 32) {
        float x = slots[t] + slots[t + 32] + slots[t + 64] + slots[t + 96];
        __syncwarp();
        slots[t] = x;
        __syncwarp();
        for (unsigned stride = 16; stride > 0; stride /= 2) {
            x += slots[t + stride];
            slots[t] = x;
            __syncwarp();
        }
        if (t == 0)
            out[blockIdx.x] = x;
    }
}
