// Copies matrices whose rows do not lie side by side, for the kernels that want them so: a tile of 32 by 32
// goes through shared memory, so that neighbouring threads read neighbours, whichever way the matrix lies,
// and write neighbours. The column more keeps the lanes that read a column of the tile in 32 banks.
#include <cstdint>

#include "matmul/params.h"

enum { TILE = GR_MATMUL_PACK_TILE, THREADS = GR_MATMUL_THREADS };

template <class T> __device__ void pack(const gr_matmul_pack_params &p) {
    __shared__ T tile[TILE][TILE + 1];
    uint64_t matrix = uint64_t(blockIdx.z) * gridDim.y + blockIdx.y;
    if (matrix >= p.matrices)
        return;
    T *to = reinterpret_cast<T *>(p.to) + matrix * p.rows * p.to_row;
    const T *from = reinterpret_cast<const T *>(p.from);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d) {
        from += int64_t(matrix % p.stack[d]) * p.from_stack[d];
        matrix /= p.stack[d];
    }
    const uint64_t first_row = blockIdx.x / p.across * TILE, first_column = blockIdx.x % p.across * TILE;
    const bool down = llabs(p.row) < llabs(p.column); // neighbours in memory lie below one another
    for (unsigned i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        const unsigned y = down ? i % TILE : i / TILE, x = down ? i / TILE : i % TILE;
        const uint64_t row = first_row + y, column = first_column + x;
        if (row < p.rows && column < p.columns)
            tile[y][x] = from[int64_t(row) * p.row + int64_t(column) * p.column];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        const uint64_t row = first_row + i / TILE, column = first_column + i % TILE;
        if (row < p.rows && column < p.columns)
            to[row * p.to_row + column] = tile[i / TILE][i % TILE];
    }
}

#define GR_PACK(bytes, T)                                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        matmul_pack_##bytes(const __grid_constant__ gr_matmul_pack_params p) {                               \
        pack<T>(p);                                                                                          \
    }

GR_PACK(1, uint8_t)
GR_PACK(2, uint16_t)
GR_PACK(4, uint32_t)
GR_PACK(8, uint64_t)
GR_PACK(16, uint4)
