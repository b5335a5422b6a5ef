// expect: race
// A scan in one buffer with one barrier a round, where it takes two barriers or two buffers.
extern "C" __global__ void scan_in_place(const float *in, float *out, unsigned n) {
    __shared__ float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned offset = 1; offset < blockDim.x; offset *= 2) {
        if (t >= offset)
            slots[t] += slots[t - offset];
        __syncthreads();
    }
    out[i] = slots[t];
}
