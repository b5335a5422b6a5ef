// One thread does everything.
__global__ void scale(const float *in, float *out, float factor, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < n; ++i)
            out[i] = factor * in[i];
}
