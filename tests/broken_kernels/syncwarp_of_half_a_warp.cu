// expect: race
// The two halves of the warp wait each for itself, then read from each other.
extern "C" __global__ void syncwarp_of_half_a_warp(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    out[i] = slots[t ^ 16];
}
