// expect: race
// All threads write the block's maximum index, each its own idea of it.
extern "C" __global__ void everybody_writes(const float *in, float *out, unsigned n) {
    __shared__ float last;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    last = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = last;
}
