__global__ void warp_sums(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;

    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(0xffffffffu, x, distance);

    if (threadIdx.x % 32 == 0 && i < n)
        out[i / 32] = x;
}
