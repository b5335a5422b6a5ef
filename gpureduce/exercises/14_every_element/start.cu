// out[b] is the sum of the elements of block b: 2 * blockDim.x of them, fewer in the last block.
__global__ void pair_sums(const float *in, float *out, unsigned n) {
    extern __shared__ float slots[];
    const unsigned t = threadIdx.x, i = blockIdx.x * (2 * blockDim.x) + t;

    slots[t] = i + blockDim.x < n ? in[i] + in[i + blockDim.x] : 0;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t < 32) {
        for (unsigned stride = 32; stride > 0; stride /= 2)
            slots[t] += slots[t + stride];
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
