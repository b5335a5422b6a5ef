/* Multiplications of two consecutive n x n matrices; n is a multiple of 64. */
typedef unsigned long long u64;

/* The lanes of a warp read one element of the first matrix and consecutive ones of the second. */
extern "C" __global__ void __launch_bounds__(256) naive(const float *in, float *out, u64 n) {
    const unsigned m = (unsigned)n, i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row = i / m, column = i % m;
    const float *left = in, *right = in + (u64)m * m;
    float sum = 0;
    for (unsigned k = 0; k < m; k++)
        sum += left[row * m + k] * right[k * m + column];
    out[i] = sum;
}

/* Tiles of 16 x 16; a warp computes two rows of a tile. */
extern "C" __global__ void __launch_bounds__(256) tiles(const float *in, float *out, u64 n) {
    __shared__ float left[16][16], right[16][16];
    const unsigned m = (unsigned)n, x = threadIdx.x % 16, y = threadIdx.x / 16;
    const unsigned row = blockIdx.x / (m / 16) * 16 + y, column = blockIdx.x % (m / 16) * 16 + x;
    float sum = 0;
    for (unsigned k = 0; k < m; k += 16) {
        left[y][x] = in[row * m + k + x];
        right[y][x] = in[(m + k + y) * m + column];
        __syncthreads();
        for (unsigned j = 0; j < 16; j++)
            sum += left[y][j] * right[j][x];
        __syncthreads();
    }
    out[row * m + column] = sum;
}

/* Tiles of 64 x 64; a thread computes 4 x 4 elements. */
extern "C" __global__ void __launch_bounds__(256) blocked(const float *in, float *out, u64 n) {
    __shared__ float left[8][64], right[8][64];
    const unsigned m = (unsigned)n, t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4;
    const unsigned row = blockIdx.x / (m / 64) * 64, column = blockIdx.x % (m / 64) * 64;
    float sum[4][4] = {};
    for (unsigned k = 0; k < m; k += 8) {
        for (unsigned i = t; i < 512; i += 256) {
            left[i % 8][i / 8] = in[(row + i / 8) * m + k + i % 8];
            right[i / 64][i % 64] = in[(m + k + i / 64) * m + column + i % 64];
        }
        __syncthreads();
        for (unsigned j = 0; j < 8; j++)
            for (unsigned a = 0; a < 4; a++)
                for (unsigned b = 0; b < 4; b++)
                    sum[a][b] += left[j][y + a] * right[j][x + b];
        __syncthreads();
    }
    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 0; b < 4; b++)
            out[(row + y + a) * m + column + x + b] = sum[a][b];
}
