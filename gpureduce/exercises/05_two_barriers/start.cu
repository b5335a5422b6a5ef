// out[b] is the sum of the elements of block b: blockDim.x of them, fewer in the last block.
__global__ void shuffle_sums(const float *in, float *out, unsigned n) {
    __shared__ float slots[1024];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

    slots[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
