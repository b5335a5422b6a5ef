// out[i] = factor * in[i] for all i below n, for any number of threads.
__global__ void scale(const float *in, float *out, float factor, int n) {
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int each = (n + threads - 1) / threads;

    for (int i = thread * each; i < (thread + 1) * each && i < n; ++i)
        out[i] = factor * in[i];
}
