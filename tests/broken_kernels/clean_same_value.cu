// expect: nothing
// Whoever finds something writes the same flag, all in one instruction.
extern "C" __global__ void clean_same_value(const float *in, float *out, unsigned n) {
    __shared__ int found[4];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 4)
        found[t] = 0;
    __syncthreads();
    if (i < n && in[i] > 0.5f)
        found[t / 32] = 1;
    __syncthreads();
    if (t == 0)
        out[blockIdx.x] = float(found[0] + found[1] + found[2] + found[3]);
}
