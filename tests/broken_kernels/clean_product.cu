// expect: nothing
// A product of 16 x 16 and 16 x 8 in steps along k, with both barriers.
extern "C" __global__ void clean_product(const float *in, float *out, unsigned n) {
    __shared__ float tile_a[16][8], tile_b[8][8];
    const unsigned y = threadIdx.x / 8, x = threadIdx.x % 8;
    float sum = float(n);
    for (unsigned step = 0; step < 16; step += 8) {
        tile_a[y][x] = in[16 * y + step + x];
        if (y < 8)
            tile_b[y][x] = in[8 * (step + y) + x];
        __syncthreads();
        for (unsigned i = 0; i < 8; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
