// expect: race
// Thread 0 sets the sum to zero while other warps may already add to it.
extern "C" __global__ void late_initialisation(const float *in, float *out, unsigned n) {
    __shared__ float sum;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        sum = 0.0f;
    if (i < n)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
