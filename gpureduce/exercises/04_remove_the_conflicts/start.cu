// out is the transpose of in: in has height rows and width columns, out has width rows and height columns.
__global__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 32, row = blockIdx.y * 32; // of the tile's first element

    if (row + y < height && column + x < width)
        tile[y][x] = in[(row + y) * width + column + x];
    __syncthreads();
    if (column + y < width && row + x < height)
        out[(column + y) * height + row + x] = tile[x][y];
}
