// expect: race
// Each step waits for all reads before it writes, but not for the writes before the next step reads.
extern "C" __global__ void missing_syncwarp_after_write(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (t < 32) {
        float x = slots[t] + slots[t + 32] + slots[t + 64] + slots[t + 96];
        for (unsigned stride = 16; stride > 0; stride /= 2) {
            __syncwarp();
            slots[t] = x;
            x += slots[t + stride];
        }
        if (t == 0)
            out[blockIdx.x] = x;
    }
}
