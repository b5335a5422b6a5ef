// m7: double buffering.
//
// What m6 still cost: the multiply-adds waited for the tiles, and the loads for the multiply-adds.
// The change: two pairs of tiles in shared memory. While a block computes on one pair, the loads of the next
// step are in flight to registers; they are stored in the other pair, so one barrier per step suffices. A
// loop without branches processes the whole steps, so that loads are issued early; eight lanes are across the
// warp's tile, so that their stores are contiguous. What limits it now: the tiles pass through registers, and
// the order of the multiply-adds causes conflicts of register-file banks. Where it shows: barriers per step,
// one instead of two; time.
#include "matmul/block.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, THREADS = 256, WARP_ROWS = 32, WARP_COLUMNS = 64, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    constexpr int TILE_K = 64 / sizeof(T);
    __shared__ alignas(16) T tile_a[2][TILE_K][ROWS + PADDING], tile_b[2][TILE_K][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const bool a_aligned = rows_aligned(p.a, p.a_row), b_aligned = rows_aligned(p.b, p.b_row);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane / 8 * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane % 8 * 4;

    ShareOfA<T, ROWS, TILE_K, THREADS> of_a;
    ShareOfB<T, TILE_K, COLUMNS, THREADS> of_b;
    of_a.load(p, first_row, 0, p.k, a_aligned);
    of_b.load(p, 0, first_column, b_aligned);
    of_a.store(tile_a[0]);
    of_b.store(tile_b[0]);
    __syncthreads();

    T sums[8][8] = {};
    unsigned now = 0;
    const auto multiply = [&](int i) {
        T frag_a[8], frag_b[8];
        load_fragment<WARP_ROWS / 2>(&tile_a[now][i][y], frag_a);
        load_fragment<WARP_COLUMNS / 2>(&tile_b[now][i][x], frag_b);
        add_products(frag_a, frag_b, sums);
    };
    const auto store_next = [&] { // these are no longer read: all have passed the last barrier
        of_a.store(tile_a[now ^ 1]);
        of_b.store(tile_b[now ^ 1]);
    };
    uint64_t step = 0;
    if (a_aligned && b_aligned && p.m - first_row >= ROWS && p.n - first_column >= COLUMNS) {
        // As far as whole steps follow, a loop without branches.
        const T *from_a = p.row_of_a(first_row + of_a.row()) + of_a.column();
        const T *from_b = p.row_of_b(of_b.row(0)) + first_column + of_b.column();
        for (; step + 2 * TILE_K <= p.k; step += TILE_K, now ^= 1) {
            of_a.load_whole(from_a += TILE_K, p.a_row);
            of_b.load_whole(from_b += TILE_K * p.b_row, p.b_row);
#pragma unroll
            for (int i = 0; i < TILE_K; ++i)
                multiply(i);
            store_next();
            __syncthreads();
        }
    }
    for (; step < p.k; step += TILE_K, now ^= 1) {
        const bool more = step + TILE_K < p.k;
        if (more) {
            of_a.load(p, first_row, step + TILE_K, p.k, a_aligned);
            of_b.load(p, step + TILE_K, first_column, b_aligned);
        }
#pragma unroll 1
        for (int i = 0; i < TILE_K; ++i)
            multiply(i);
        if (more)
            store_next();
        __syncthreads();
    }
    store_results<WARP_ROWS / 2, WARP_COLUMNS / 2>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m7
#include "matmul/instantiate.cuh"
