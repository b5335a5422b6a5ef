// expect: barrier
// The barrier stands inside the if: lanes that skip the addition skip it too.
extern "C" __global__ void barrier_in_branch(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            slots[t] += slots[t + stride];
            __syncthreads();
        }
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
