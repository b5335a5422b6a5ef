__device__ float warp_sum(float x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(0xffffffffu, x, distance);
    return x;
}

__global__ void shuffle_sums(const float *in, float *out, unsigned n) {
    __shared__ float sums[32];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

    const float x = warp_sum(i < n ? in[i] : 0);
    if (t % 32 == 0)
        sums[t / 32] = x;
    __syncthreads();
    if (t < 32) {
        const float sum = warp_sum(t < blockDim.x / 32 ? sums[t] : 0);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}
