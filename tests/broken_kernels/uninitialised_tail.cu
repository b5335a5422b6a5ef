// expect: uninitialised
// Threads past the end store nothing, and the tree adds up what lies there.
extern "C" __global__ void uninitialised_tail(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n)
        slots[t] = in[i];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
