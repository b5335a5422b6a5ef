// c[row][column] is the sum of a[row][k] * b[k][column] over all k < inner.
__global__ void product(const float *a, const float *b, float *c, int rows, int columns, int inner) {
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= rows || column >= columns)
        return;

    float sum = 0;
    for (int k = 0; k < inner; ++k)
        sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}
