// Copies matrices whose layout kernels do not support. Where the elements of a row are contiguous,
// each thread puts together 16 bytes of a row, wherever that begins. Else a tile of 32 by 32 goes through
// shared memory, so that neighbouring threads read neighbours and write neighbours; its column more keeps the
// lanes that read a column of the tile in 32 banks.
#include <cstdint>

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "matmul/matmul.cuh"
#include "matmul/vec16_rows.cuh"

using namespace gr::matmul;

enum { TILE = GR_MATMUL_PACK_TILE, THREADS = GR_MATMUL_THREADS, WARPS = THREADS / 32 };

template <class T>
__device__ void pack_rows(const gr_matmul_pack_params &p, const T *from, T *to, uint64_t first_row,
                          uint64_t first) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t column = first + lane * LENGTH;
    const bool aligned = rows_aligned(to, int64_t(p.to_pitch));
    for (unsigned y = warp; y < TILE && first_row + y < p.rows; y += WARPS) {
        const T *row = from + int64_t(first_row + y) * p.row + column;
        Vec16<T> v;
#pragma unroll
        for (int i = 0; i < LENGTH; ++i)
            v.element[i] = column + i < p.columns ? row[i] : T();
        store_vec16(to + (first_row + y) * p.to_pitch, column, p.columns, aligned, v);
    }
}

template <class T>
__device__ void pack_tile(const gr_matmul_pack_params &p, const T *from, T *to, uint64_t first_row,
                          uint64_t first_column) {
    __shared__ T tile[TILE][TILE + 1];
    const bool column_major = llabs(p.row) < llabs(p.column); // neighbours in memory lie below one another
    for (unsigned i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        const unsigned y = column_major ? i % TILE : i / TILE, x = column_major ? i / TILE : i % TILE;
        const uint64_t row = first_row + y, column = first_column + x;
        if (row < p.rows && column < p.columns)
            tile[y][x] = from[int64_t(row) * p.row + int64_t(column) * p.column];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < TILE * TILE; i += THREADS) {
        const uint64_t row = first_row + i / TILE, column = first_column + i % TILE;
        if (row < p.rows && column < p.columns)
            to[row * p.to_pitch + column] = tile[i / TILE][i % TILE];
    }
}

template <class T> __device__ void pack(const gr_matmul_pack_params &p) {
    const uint64_t matrix = matrix_of_block();
    if (matrix >= p.matrices)
        return;
    const T *from = reinterpret_cast<const T *>(p.from) + stack_offset(p, p.from_stack, matrix);
    T *to = reinterpret_cast<T *>(p.to) + matrix * p.rows * p.to_pitch;
    const unsigned tiles_n = unsigned(p.column_tiles);
    gr::common::pdl_as_comments::pdl_launch_dependents();
    gr::common::pdl_as_comments::pdl_wait();
    const uint64_t row = uint64_t(blockIdx.x / tiles_n) * TILE, tile = blockIdx.x % tiles_n;
    if (p.column == 1)
        pack_rows(p, from, to, row, tile * 32 * Vec16<T>::LENGTH);
    else
        pack_tile(p, from, to, row, tile * TILE);
}

GR_ENTRY((THREADS), matmul_pack_1, __grid_constant__ gr_matmul_pack_params, pack<uint8_t>)
GR_ENTRY((THREADS), matmul_pack_2, __grid_constant__ gr_matmul_pack_params, pack<uint16_t>)
GR_ENTRY((THREADS), matmul_pack_4, __grid_constant__ gr_matmul_pack_params, pack<uint32_t>)
GR_ENTRY((THREADS), matmul_pack_8, __grid_constant__ gr_matmul_pack_params, pack<uint64_t>)
GR_ENTRY((THREADS), matmul_pack_16, __grid_constant__ gr_matmul_pack_params, pack<ulonglong2>)
