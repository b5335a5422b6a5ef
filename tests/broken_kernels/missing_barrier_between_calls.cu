// expect: race
// A block sum by shuffles, called twice: the second call overwrites what the first warp still reads.
__device__ float block_sum(float x) {
    __shared__ float warp_sums[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, x, offset);
    if (lane == 0)
        warp_sums[warp] = x;
    __syncthreads();
    x = 0.0f;
    for (unsigned k = 0; k < warps; k++)
        x += warp_sums[k];
    return x;
}

extern "C" __global__ void missing_barrier_between_calls(const float *in, float *out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = i < n ? in[i] : 0.0f;
    const float mean = block_sum(x) / float(blockDim.x);
    const float spread = block_sum((x - mean) * (x - mean));
    if (threadIdx.x == 0)
        out[blockIdx.x] = spread;
}
