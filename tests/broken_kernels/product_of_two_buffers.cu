// expect: race, uninitialised
// Two buffers and no barrier between the turns: the next pair is there for some threads only.
extern "C" __global__ void product_of_two_buffers(const float *in, float *out, unsigned n) {
    __shared__ float tile_a[2][16][4], tile_b[2][4][8];
    const unsigned y = threadIdx.x / 8, x = threadIdx.x % 8;
    float sum = float(n);
    const auto bring = [&](unsigned step, unsigned place) {
        if (x < 4)
            tile_a[place][y][x] = in[16 * y + step + x];
        if (y < 4)
            tile_b[place][y][x] = in[8 * (step + y) + x];
    };
    bring(0, 0);
    __syncthreads();
    for (unsigned step = 0, now = 0; step < 16; step += 4, now ^= 1) {
        if (step + 4 < 16)
            bring(step + 4, now ^ 1);
        for (unsigned i = 0; i < 4; i++)
            sum += tile_a[now][y][i] * tile_b[now][i][x];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
