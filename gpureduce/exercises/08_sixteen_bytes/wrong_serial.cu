// One thread does everything.
__global__ void add_one(const float *in, float *out, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < n; ++i)
            out[i] = in[i] + 1;
}
