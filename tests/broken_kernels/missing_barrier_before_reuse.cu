// expect: race
// The second sum overwrites slots from which other threads may still have to read the first.
extern "C" __global__ void missing_barrier_before_reuse(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float total = 0.0f;
    for (int turn = 0; turn < 2; turn++) {
        slots[t] = i < n ? in[i] * float(turn + 1) : 0.0f;
        __syncthreads();
        for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
            if (t < stride)
                slots[t] += slots[t + stride];
            __syncthreads();
        }
        total += slots[0]; // by every thread
    }
    if (t == 0)
        out[blockIdx.x] = total;
}
