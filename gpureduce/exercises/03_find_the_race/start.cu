// out[b] is the sum of the elements of block b.
__global__ void block_sums(const float *in, float *out, int n) {
    __shared__ float slots[128];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

    slots[t] = i < n ? in[i] : 0;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
