// expect: uninitialised
// Atomics into a counter that no kernel has set to zero.
extern "C" __global__ void uninitialised_counter(const float *in, float *out, unsigned n) {
    __shared__ unsigned counter;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0.5f)
        atomicAdd(&counter, 1u);
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = float(counter);
}
