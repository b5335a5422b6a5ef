// expect: uninitialised
// The last step along k is half a one, and the product uses all of the tiles.
extern "C" __global__ void product_without_tail(const float *in, float *out, unsigned n) {
    __shared__ float tile_a[16][8], tile_b[8][8];
    const unsigned y = threadIdx.x / 8, x = threadIdx.x % 8;
    float sum = float(n);
    for (unsigned step = 0; step < 4; step += 8) {
        if (step + x < 4)
            tile_a[y][x] = in[4 * y + step + x];
        if (y < 8 && step + y < 4)
            tile_b[y][x] = in[8 * (step + y) + x];
        __syncthreads();
        for (unsigned i = 0; i < 8; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
