// expect: nothing
// Atomics into initialised counters, and a barrier before they are read.
extern "C" __global__ void clean_histogram(const float *in, float *out, unsigned n) {
    __shared__ unsigned counts[8];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 8)
        counts[t] = 0;
    __syncthreads();
    if (i < n)
        atomicAdd(&counts[unsigned(in[i] * 8.0f) % 8], 1u);
    __syncthreads();
    if (t < 8)
        out[8 * blockIdx.x + t] = float(counts[t]);
}
