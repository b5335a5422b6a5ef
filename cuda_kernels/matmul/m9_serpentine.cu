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

enum { ROWS = 128, COLUMNS = 128, DEEP = 16, THREADS = 128, STAGES = 2, BLOCKS = 2 };
enum { DOWN = 8, ACROSS = 16, WARP_ROWS = 8 * DOWN, WARP_COLUMNS = 4 * ACROSS }; // of a thread, of a warp

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    typedef Copies<T, DEEP, ROWS, THREADS, true> OfA;
    typedef Copies<T, DEEP, COLUMNS, THREADS, false> OfB;
    __shared__ alignas(16) typename OfA::Tile tile_a[STAGES];
    __shared__ alignas(16) typename OfB::Tile tile_b[STAGES];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const OfA of_a(p.a, p.a_row, first_row, p.m);
    const OfB of_b(p.b, p.b_row, first_column, p.n);
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane_down() * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane_across() * 4;

    const auto begin = [&](uint64_t step, unsigned stage) {
        if (step < p.k) {
            of_a.begin(tile_a[stage], step, p.k);
            of_b.begin(tile_b[stage], step, p.k);
        }
        commit_copies();
    };
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage)
        begin(stage * DEEP, stage);

    T sums[DOWN][ACROSS] = {};
    unsigned now = 0, next = STAGES - 1;
    for (uint64_t step = 0; step < p.k; step += DEEP) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        begin(step + (STAGES - 1) * DEEP, next);
#pragma unroll 2
        for (int i = 0; i < DEEP; ++i) {
            T down[DOWN], across[ACROSS];
            load_fragment<WARP_ROWS / DOWN * 4>(&tile_a[now][i][y], down);
            load_fragment<WARP_COLUMNS / ACROSS * 4>(&tile_b[now][i][x], across);
#pragma unroll
            for (int r = 0; r < DOWN; ++r)
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    const int s = r % 2 ? ACROSS - 1 - j : j;
                    sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
                }
        }
        next = now;
        now = now + 1 == STAGES ? 0 : now + 1;
    }
    scale(sums, T(blockDim.z)); // one, which the compiler does not know
    store_results<WARP_ROWS / DOWN * 4, WARP_COLUMNS / ACROSS * 4>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m9
#define GR_MATMUL_F32
#include "matmul_instantiate.cuh"
