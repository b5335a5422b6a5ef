// out[i] is in[i - 1] + in[i] + in[i + 1], without neighbours outside of the array. Blocks of 128 threads.
__global__ void smooth(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = (i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < n ? in[i + 1] : 0);
}
