// One thread of each block does everything.
__global__ void count_above(const float *in, int *out, float limit, int n) {
    if (threadIdx.x != 0)
        return;
    int count = 0;
    for (int i = blockIdx.x * blockDim.x; i < (blockIdx.x + 1) * blockDim.x && i < n; ++i)
        count += in[i] > limit;
    atomicAdd(out, count);
}
