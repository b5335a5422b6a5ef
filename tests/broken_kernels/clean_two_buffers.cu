// expect: nothing
// A scan with two buffers needs one barrier a round.
extern "C" __global__ void clean_two_buffers(const float *in, float *out, unsigned n) {
    __shared__ float slots[2][128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned from = 0;
    slots[0][t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned offset = 1; offset < blockDim.x; offset *= 2, from ^= 1) {
        slots[from ^ 1][t] = slots[from][t] + (t >= offset ? slots[from][t - offset] : 0.0f);
        __syncthreads();
    }
    out[i] = slots[from][t];
}
