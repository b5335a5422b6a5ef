// m9: the order of the products.
//
// What m8 still cost: the register file gives two of the three operands of a multiply-add a cycle where their
// registers lie in one bank, and the multiply-adds waited for the third.
// The change: the products go forth along a row and back along the next, so that each shares an operand with
// the one before it, also at the turns, and reads that one no more. A thread makes 8 by 16 results, and a
// result is multiplied by one before it is stored: thus none need lie in registers in the order of its store.
// What limits it now: what a thread loads from shared memory comes late; small products leave multiprocessors
// idle. Where it shows: time, and nothing else: 0.97 multiply-adds an instruction.
#include "matmul.cuh"
#include "matmul_ring.cuh"

enum { ROWS = 64, COLUMNS = 128, DEEP = 16, THREADS = 64, STAGES = 3, BLOCKS = 4 };
enum { DOWN = 8, ACROSS = 16, WARP_ROWS = 8 * DOWN, WARP_COLUMNS = 4 * ACROSS }; // of a thread, of a warp

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ alignas(16) Ring<T, ROWS, COLUMNS, DEEP, STAGES, THREADS> ring;
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane_down() * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane_across() * 4;

    T sums[DOWN][ACROSS] = {};
    const auto multiply = [&](const auto &tile_a, const auto &tile_b) {
#pragma unroll 4
        for (int i = 0; i < DEEP; ++i) {
            T down[DOWN], across[ACROSS];
            load_fragment<32>(&tile_a[i][y], down);
            load_fragment<16>(&tile_b[i][x], across);
#pragma unroll
            for (int r = 0; r < DOWN; ++r)
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    const int s = r % 2 ? ACROSS - 1 - j : j;
                    sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
                }
        }
    };
    ring.each_step(p, first_row, first_column, 0, p.k, multiply);
    free_of_store(sums);
    store_results<32, 16>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m9
#define GR_MATMUL_F32
#include "matmul_instantiate.cuh"
