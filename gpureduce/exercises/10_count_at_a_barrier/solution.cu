__global__ void count_above(const float *in, int *out, float limit, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    const int count = __syncthreads_count(i < n && in[i] > limit);
    if (threadIdx.x == 0)
        atomicAdd(out, count);
}
