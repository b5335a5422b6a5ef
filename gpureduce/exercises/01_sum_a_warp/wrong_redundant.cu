// Every thread adds all elements, and one of them stores the sum.
__global__ void warp_sums(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = i / 32 * 32;
    float sum = 0;
    for (int k = first; k < first + 32 && k < n; ++k)
        sum += in[k];
    if (threadIdx.x % 32 == 0 && i < n)
        out[i / 32] = sum;
}
