// expect: uninitialised
// The first warp reads 32 warp sums of a block that has four warps.
extern "C" __global__ void uninitialised_warps(const float *in, float *out, unsigned n) {
    __shared__ float warp_sums[32];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float x = i < n ? in[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, x, offset);
    if (t % 32 == 0)
        warp_sums[t / 32] = x;
    __syncthreads();
    if (t < 32) {
        x = warp_sums[t];
        for (int offset = 16; offset > 0; offset /= 2)
            x += __shfl_down_sync(0xffffffffu, x, offset);
        if (t == 0)
            out[blockIdx.x] = x;
    }
}
