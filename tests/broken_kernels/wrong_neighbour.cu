// expect: race
// Strided index with one `2 *` forgotten: neighbours overlap.
extern "C" __global__ void wrong_neighbour(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned left = stride * t;
        if (left + stride < blockDim.x)
            slots[left] += slots[left + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
