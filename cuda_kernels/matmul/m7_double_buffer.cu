// m7: double buffering.
//
// What m6 still cost: the multiply-adds waited for the tiles, and the loads for the multiply-adds.
// The change: two pairs of tiles in shared memory. While a block computes on one pair, the loads of the next
// step are under way to registers; they go to the other pair, and one barrier a step is enough. What limits
// it now: the tiles pass through registers, and the order of the multiply-adds asks for the same banks of the
// register file at once. Where it shows: barriers a step, one in place of two; time.
#include "matmul.cuh"
#include "matmul_block.cuh"

enum { ROWS = 128, COLUMNS = 128, THREADS = 256, WARP_ROWS = 64, WARP_COLUMNS = 32, BLOCKS = 2 };

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    constexpr int DEEP = 64 / sizeof(T);
    __shared__ alignas(16) T tile_a[2][DEEP][ROWS], tile_b[2][DEEP][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const bool a_aligned = rows_aligned(a, k), b_aligned = rows_aligned(b, n);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane / 4 * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane % 4 * 4;

    Share<T, ROWS, DEEP, THREADS> of_a;
    Share<T, DEEP, COLUMNS, THREADS> of_b;
    of_a.load(a, first_row, m, 0, k, a_aligned);
    of_b.load(b, 0, k, first_column, n, b_aligned);
    of_a.store_transposed(tile_a[0]);
    of_b.store(tile_b[0]);
    __syncthreads();

    T sums[8][8] = {};
    unsigned now = 0;
    for (uint64_t step = 0; step < k; step += DEEP, now ^= 1) {
        const bool more = step + DEEP < k;
        if (more) {
            of_a.load(a, first_row, m, step + DEEP, k, a_aligned);
            of_b.load(b, step + DEEP, k, first_column, n, b_aligned);
        }
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            T down[8], across[8];
            load_fragment<2, 32>(&tile_a[now][i][y], down);
            load_fragment<2, 16>(&tile_b[now][i][x], across);
#pragma unroll
            for (int r = 0; r < 8; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s)
                    sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
        }
        if (more) { // nobody reads these any more: all have passed the last barrier
            of_a.store_transposed(tile_a[now ^ 1]);
            of_b.store(tile_b[now ^ 1]);
        }
        __syncthreads();
    }
    store_results(c, first_row + y, m, first_column + x, n, sums);
}

#define GR_RUNG m7
#include "matmul_instantiate.cuh"
