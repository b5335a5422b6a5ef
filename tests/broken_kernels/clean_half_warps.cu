// expect: nothing
// The halves of a warp wait each for itself and read each from itself.
extern "C" __global__ void clean_half_warps(const float *in, float *out, unsigned n) {
    __shared__ volatile float slots[128];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0.0f;
    __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    out[i] = slots[t ^ 8];
}
