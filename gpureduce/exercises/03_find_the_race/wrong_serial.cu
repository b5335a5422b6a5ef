// One thread of each block does everything.
__global__ void block_sums(const float *in, float *out, int n) {
    if (threadIdx.x != 0)
        return;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x; i < (blockIdx.x + 1) * blockDim.x && i < n; ++i)
        sum += in[i];
    out[blockIdx.x] = sum;
}
