__global__ void add_one(const float *in, float *out, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;

    for (int i = thread; i < n / 4; i += threads) {
        float4 four = reinterpret_cast<const float4 *>(in)[i];
        four.x += 1;
        four.y += 1;
        four.z += 1;
        four.w += 1;
        reinterpret_cast<float4 *>(out)[i] = four;
    }
    if (thread < n % 4)
        out[n / 4 * 4 + thread] = in[n / 4 * 4 + thread] + 1;
}
