// m9: the order of the instructions.
//
// What m8 still cost: the register file gives two operands of a multiply-add a cycle, one of an even register
// and one of an odd, and the multiply-adds waited for the third; and all copies of a step were begun at once,
// while nobody computed.
// The change: the products go forth along a row and back along the next, so that each shares an operand with
// the one before it, also at the turns, and reads that one no more. The copies are begun between them, in a
// loop without branches. A thread makes 16 by 8 results, and multiplies them by one before it stores them:
// thus none need lie in registers in the order of its store. What limits it now: loads from shared memory
// come late; small products leave multiprocessors idle. Where it shows: time, and nothing else.
#include "matmul.cuh"
#include "matmul_ring.cuh"

enum { ROWS = 128, COLUMNS = 128, DEEP = 16, THREADS = 128, BLOCKS = 2 };
enum { DOWN = 16, ACROSS = 8, WARP_ROWS = 8 * DOWN, WARP_COLUMNS = 4 * ACROSS }; // of a thread, of a warp

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ alignas(16) Ring<T, ROWS, COLUMNS, DEEP, THREADS> ring;
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane_down() * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane_across() * 4;

    T sums[DOWN][ACROSS] = {};
    const auto multiply = [&](const auto &tile_a, const auto &tile_b, const auto &begin_copies) {
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            begin_copies(i);
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
