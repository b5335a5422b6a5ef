// out[i] is the sum of the elements of the warp up to and including i.
__global__ void scan(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int x = i < n ? in[i] : 0;

    // Your part: make x the sum of the x of the lanes 0 to lane.

    if (i < n)
        out[i] = x;
}
