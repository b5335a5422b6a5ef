// A program as in first lessons: a sum of integers by hand, reductions, products and convolutions, each step
// faster than the one before, timed by events and compared with a loop on the host. "race" leaves a barrier
// out.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <mma.h>
#include <time.h>

const int blocksize = 256;

__global__ void sum_ints(const int *in, int *out, int n) {
    __shared__ int part[blocksize];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) { // log2(blockDim.x) rounds
        if (tid % (2 * s) == 0)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

__global__ void sum_atomic(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, in[i]);
}

template <bool BARRIER> __global__ void sum_shared(const float *in, float *out, int n) {
    __shared__ float part[blocksize];
    int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        if (BARRIER)
            __syncthreads();
    }
    if (tid == 0)
        atomicAdd(out, part[0]);
}

__global__ void sum_shuffle(const float *in, float *out, int n) {
    float x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        x += in[i];
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_down_sync(0xffffffff, x, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, x);
}

__global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

__global__ void multiply_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float of_a[16][16], of_b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < k; first += 16) {
        of_a[threadIdx.y][threadIdx.x] = a[row * k + first + threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__constant__ float weights[24 * 9 * 12];

// One thread per result: pictures of H x W with 12 channels, 24 filters of 3 x 3.
__global__ void convolve(const float *x, float *y, int h, int w) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, filter = blockIdx.z;
    if (column >= w - 2)
        return;
    float sum = 0;
    for (int tap = 0; tap < 9; tap++)
        for (int c = 0; c < 12; c++)
            sum +=
                x[((row + tap / 3) * w + column + tap % 3) * 12 + c] * weights[(filter * 9 + tap) * 12 + c];
    y[(filter * (h - 2) + row) * (w - 2) + column] = sum;
}

static cudaEvent_t start, stop;

static float timed(const char *name) {
    float milliseconds;
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);
    printf("%-12s %.3f ms\n", name, milliseconds);
    cudaEventRecord(start);
    return milliseconds;
}

static int ints(int n) {
    int *a = (int *)malloc((n + 1) * sizeof(int)), partial[64] = {0}, sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = i;
    int blocks = (n + blocksize - 1) / blocksize, *d_a, *d_partial;
    cudaMalloc(&d_a, (n + 1) * sizeof(int));
    cudaMalloc(&d_partial, 64 * sizeof(int));
    cudaMemcpy(d_a, a, n * sizeof(int), cudaMemcpyHostToDevice);
    sum_ints<<<blocks, blocksize>>>(d_a, d_partial, n);
    cudaMemcpy(partial, d_partial, blocks * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < blocks; i++)
        sum += partial[i];
    cudaFree(d_a);
    cudaFree(d_partial);
    free(a);
    return sum;
}

static bool reductions(float *d_x, float *d_y, int n, bool race) {
    float expected = 0, sums[3], zeros[3] = {0};
    float *x = (float *)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++)
        expected += x[i] = (i % 9) - 4;
    cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, zeros, sizeof zeros, cudaMemcpyHostToDevice);
    cudaEventRecord(start);
    int blocks = (n + blocksize - 1) / blocksize;
    sum_atomic<<<blocks, blocksize>>>(d_x, d_y, n);
    timed("atomic");
    if (race)
        sum_shared<false><<<blocks, blocksize>>>(d_x, d_y + 1, n);
    else
        sum_shared<true><<<blocks, blocksize>>>(d_x, d_y + 1, n);
    timed("shared");
    sum_shuffle<<<8, blocksize>>>(d_x, d_y + 2, n);
    timed("shuffle");
    cudaMemcpy(sums, d_y, sizeof sums, cudaMemcpyDeviceToHost);
    free(x);
    return sums[0] == expected && (race || sums[1] == expected) && sums[2] == expected;
}

// One warp per 16 x 16 results, by tensor cores.
__global__ void multiply_cores(const float *a, const float *b, float *c, int M, int N, int K) {
    namespace wmma = nvcuda::wmma;
    __shared__ half part_a[256], part_b[256];
    const float *rows = a + blockIdx.y * 16 * K, *columns = b + blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0);
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            part_a[i] = __float2half(rows[i / 16 * K + k + i % 16]);
            part_b[i] = __float2half(columns[(k + i / 16) * N + i % 16]);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fragment_a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fragment_b;
        wmma::load_matrix_sync(fragment_a, part_a, 16);
        wmma::load_matrix_sync(fragment_b, part_b, 16);
        wmma::mma_sync(sums, fragment_a, fragment_b, sums);
        __syncwarp();
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * N + blockIdx.x * 16, sums, N, wmma::mem_row_major);
}

static bool products(float *d_x, float *d_y) {
    enum { M = 64, N = 48, K = 32 };
    static float a[M * K], b[K * N], c[3][M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = i % 5 - 2;
    for (int i = 0; i < K * N; i++)
        b[i] = i % 7 - 3;
    float *d_a = d_x, *d_b = d_x + M * K;
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, sizeof b, cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid(N / 16, M / 16);
    cudaEventRecord(start);
    multiply<<<grid, block>>>(d_a, d_b, d_y, M, N, K);
    timed("naive");
    multiply_tiled<<<grid, block>>>(d_a, d_b, d_y + M * N, M, N, K);
    timed("tiled");
    multiply_cores<<<grid, 32>>>(d_a, d_b, d_y + 2 * M * N, M, N, K);
    timed("tensor cores");
    cudaMemcpy(c, d_y, sizeof c, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            float sum = 0;
            for (int i = 0; i < K; i++)
                sum += a[row * K + i] * b[i * N + column];
            right = right && c[0][row * N + column] == sum && c[1][row * N + column] == sum &&
                    c[2][row * N + column] == sum;
        }
    return right;
}

static bool convolutions(float *d_x, float *d_y) {
    enum { H = 6, W = 34 };
    static float x[H * W * 12], w[24 * 9 * 12], y[24 * (H - 2) * (W - 2)];
    for (int i = 0; i < H * W * 12; i++)
        x[i] = i % 11 - 5;
    for (int i = 0; i < 24 * 9 * 12; i++)
        w[i] = i % 5 - 2;
    cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, w, sizeof w);
    cudaEventRecord(start);
    convolve<<<dim3(1, H - 2, 24), 64>>>(d_x, d_y, H, W);
    timed("convolution");
    cudaMemcpy(y, d_y, sizeof y, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int f = 0; f < 24; f++)
        for (int row = 0; row < H - 2; row++)
            for (int column = 0; column < W - 2; column++) {
                float sum = 0;
                for (int tap = 0; tap < 9; tap++)
                    for (int c = 0; c < 12; c++)
                        sum +=
                            x[((row + tap / 3) * W + column + tap % 3) * 12 + c] * w[(f * 9 + tap) * 12 + c];
                right = right && y[(f * (H - 2) + row) * (W - 2) + column] == sum;
            }
    return right;
}

int main(int argc, char **argv) {
    clock_t began = clock();
    bool race = argc > 1 && !strcmp(argv[1], "race");
    float *d_x, *d_y;
    cudaMalloc((void **)&d_x, 10000 * sizeof(float));
    cudaMalloc((void **)&d_y, 10000 * sizeof(float));
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    printf("the sum of 1000 integers is %d\n", ints(1000));
    bool right = reductions(d_x, d_y, 5000, race) & products(d_x, d_y) & convolutions(d_x, d_y);
    printf("the answer is %s\n", right ? "right" : "wrong");
    cudaFree(d_x);
    cudaFree(d_y);
    return clock() < began; // never
}
