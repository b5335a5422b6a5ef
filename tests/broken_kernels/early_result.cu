// expect: race
// The sum is read before the barrier, while other threads may still add to it.
extern "C" __global__ void early_result(const float *in, float *out, unsigned n) {
    __shared__ float sum;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        sum = 0.0f;
    __syncthreads();
    if (i < n)
        atomicAdd(&sum, in[i]);
    const float result = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = result;
}
