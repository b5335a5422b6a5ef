// Matrix products of the dtypes that have no rung: small integers, which wrap as they do in NumPy, halves,
// which are added up in float32 and rounded once, bools and complex numbers. As m4, with 64 by 64 results a
// block and four by four a thread, elements are widened as they are stored to shared memory.
#include "common/entry.cuh"
#include "matmul/accumulators.cuh"

using namespace gr::matmul;

enum { TILE = GR_MATMUL_OTHER_TILE, THREADS = GR_MATMUL_THREADS, TILE_K = 8, THREAD_TILE = 4 };
static_assert(TILE * TILE == THREADS * THREAD_TILE * THREAD_TILE,
              "a thread makes THREAD_TILE by THREAD_TILE results");

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, const gr_matmul_params &p, uint64_t first_row,
                       uint64_t first_column) {
    typedef typename Accumulator<T>::type W;
    __shared__ alignas(16) unsigned char room[2 * TILE * TILE_K * sizeof(W)];
    W(*tile_a)[TILE] = reinterpret_cast<W(*)[TILE]>(room); // of a step's columns of A and rows of B
    W(*tile_b)[TILE] = tile_a + TILE_K;
    const unsigned t = threadIdx.x, y = t / (TILE / THREAD_TILE), x = t % (TILE / THREAD_TILE);

    W sums[THREAD_TILE][THREAD_TILE] = {};
    for (uint64_t step = 0; step < p.k; step += TILE_K) {
        for (unsigned i = t; i < TILE * TILE_K; i += THREADS) {
            const uint64_t row = first_row + i / TILE_K, column = step + i % TILE_K;
            tile_a[i % TILE_K][i / TILE_K] =
                row < p.m && column < p.k
                    ? Accumulator<T>::of(a[int64_t(row) * p.a_row + int64_t(column) * p.a_column])
                    : W(0);
        }
        for (unsigned i = t; i < TILE * TILE_K; i += THREADS) {
            const uint64_t row = step + i / TILE, column = first_column + i % TILE;
            tile_b[i / TILE][i % TILE] =
                row < p.k && column < p.n
                    ? Accumulator<T>::of(b[int64_t(row) * p.b_row + int64_t(column) * p.b_column])
                    : W(0);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
#pragma unroll
            for (int r = 0; r < THREAD_TILE; ++r)
#pragma unroll
                for (int s = 0; s < THREAD_TILE; ++s)
                    sums[r][s] = multiply_add(tile_a[i][y + r * (TILE / THREAD_TILE)],
                                              tile_b[i][x + s * (TILE / THREAD_TILE)], sums[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < THREAD_TILE; ++r)
#pragma unroll
        for (int s = 0; s < THREAD_TILE; ++s) {
            const uint64_t row = first_row + y + r * (TILE / THREAD_TILE);
            const uint64_t column = first_column + x + s * (TILE / THREAD_TILE);
            if (row < p.m && column < p.n)
                c[row * p.n + column] = Accumulator<T>::back(sums[r][s]);
        }
}

template <class T> __device__ void matmul_of(const gr_matmul_params &p) {
    const uint64_t pair = matrix_of_block();
    if (pair < p.pairs)
        matmul<T>(reinterpret_cast<const T *>(p.a) + stack_offset(p, p.a_stack, pair),
                  reinterpret_cast<const T *>(p.b) + stack_offset(p, p.b_stack, pair),
                  reinterpret_cast<T *>(p.c) + pair * p.m * p.n, p, blockIdx.x / p.n_tiles * TILE,
                  blockIdx.x % p.n_tiles * TILE);
}

#define GR_MATMUL(suffix, T)                                                                                 \
    GR_ENTRY((THREADS), matmul_##suffix, __grid_constant__ gr_matmul_params, matmul_of<T>)

GR_MATMUL(b8, gr_bool)
GR_MATMUL(i8, int8_t)
GR_MATMUL(i16, int16_t)
GR_MATMUL(u8, uint8_t)
GR_MATMUL(u16, uint16_t)
GR_MATMUL(f16, gr_f16)
GR_MATMUL(bf16, gr_bf16)
GR_MATMUL(c64, gr_c64)
GR_MATMUL(c128, gr_c128)
