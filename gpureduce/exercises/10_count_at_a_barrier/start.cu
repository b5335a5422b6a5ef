// Adds to *out how many of the n elements are above the limit.
__global__ void count_above(const float *in, int *out, float limit, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] > limit)
        atomicAdd(out, 1);
}
