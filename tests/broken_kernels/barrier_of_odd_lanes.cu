// expect: barrier
// Even and odd lanes of a warp wait at different barriers.
extern "C" __global__ void barrier_of_odd_lanes(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    if (t % 2) {
        slots[t] *= 2.0f;
        __syncthreads();
    } else {
        slots[t] *= 3.0f;
        __syncthreads();
        slots[t] += 1.0f;
    }
    out[i] = slots[t ^ 1];
}
