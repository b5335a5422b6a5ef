// One lane of each warp does everything.
__global__ void scan(const int *in, int *out, int n) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32 != 0)
        return;
    int sum = 0;
    for (int i = first; i < first + 32 && i < n; ++i) {
        sum += in[i];
        out[i] = sum;
    }
}
