__global__ void scan(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int x = i < n ? in[i] : 0;

    for (int distance = 1; distance < 32; distance *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, x, distance);
        if (lane >= distance)
            x += before;
    }

    if (i < n)
        out[i] = x;
}
