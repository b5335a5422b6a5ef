// out[i] = in[i] + 1 for all i < n, with a grid that may be smaller or larger than the array.
__global__ void add_one(const float *in, float *out, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;

    for (int i = thread; i < n; i += threads)
        out[i] = in[i] + 1;
}
