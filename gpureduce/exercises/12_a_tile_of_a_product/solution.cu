__global__ void product(const float *a, const float *b, float *c, int rows, int columns, int inner) {
    __shared__ float of_a[16][16], of_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;

    float sum = 0;
    for (int first = 0; first < inner; first += 16) {
        of_a[y][x] = row < rows && first + x < inner ? a[row * inner + first + x] : 0;
        of_b[y][x] = first + y < inner && column < columns ? b[(first + y) * columns + column] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[row * columns + column] = sum;
}
