__global__ void tree_sums(const float *in, float *out, int n) {
    __shared__ float slots[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

    slots[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
