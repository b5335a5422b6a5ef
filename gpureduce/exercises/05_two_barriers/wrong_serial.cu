// One thread of each block does everything.
__global__ void shuffle_sums(const float *in, float *out, unsigned n) {
    if (threadIdx.x != 0)
        return;
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x; i < (blockIdx.x + 1) * blockDim.x && i < n; ++i)
        sum += in[i];
    out[blockIdx.x] = sum;
}
