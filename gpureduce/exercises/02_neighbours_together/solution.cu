__global__ void scale(const float *in, float *out, float factor, int n) {
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;

    for (int i = thread; i < n; i += threads)
        out[i] = factor * in[i];
}
