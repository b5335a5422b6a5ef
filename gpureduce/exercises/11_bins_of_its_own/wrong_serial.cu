// One thread does everything.
__global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int i = 0; i < n; ++i)
            ++bins[in[i]];
}
