// Each warp sums its 32 elements, and its first lane stores the sum in out.
__global__ void warp_sums(const float *in, float *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;

    // Your part: make the x of the first lane the sum of the x of all 32 lanes.

    if (threadIdx.x % 32 == 0 && i < n)
        out[i / 32] = x;
}
