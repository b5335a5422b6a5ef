// t0: tensor cores.
//
// What m10 still cost: one instruction per 32 multiply-adds.
// The change: mma.sync multiplies 16 by 8 elements of A with 8 by 8 of B in one warp instruction, 1,024
// multiply-adds (2,048 for float16 and bfloat16). float32 is rounded to TF32 first, which has 10 fraction
// bits, like float16: the error is 2.9e-4 of the norm of the result, for plain float32 6e-7; sums are
// float32. A warp's tile is 64 by 64; its fragments are loaded from shared memory by ldmatrix, its tiles by
// cp.async. What limits it now: the fragments pass through registers, again for each warp. Where it shows:
// tensor-core operations; no multiply-adds.
#include "common/shared_array.cuh"
#include "matmul/mma.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, WARP_ROWS = 64, WARP_COLUMNS = 64, STAGES = 3, BLOCKS = 2 };
enum { THREADS = ROWS * COLUMNS / (WARP_ROWS * WARP_COLUMNS) * 32 };

template <class T> struct Stage {
    static constexpr int TILE_K = 128 / sizeof(T), LENGTH = 16 / sizeof(T);
    T a[ROWS][TILE_K + LENGTH], b[TILE_K][COLUMNS + 8]; // longer rows, so that neighbours lie in other banks
};

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    static_assert(STAGES * sizeof(Stage<T>) == GR_MATMUL_T0_SHARED, "bytes of shared memory");
    constexpr int TILE_K = Stage<T>::TILE_K, STEP = 32 / sizeof(T);
    Stage<T> *ring = shared_array<Stage<T>>();
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned valid_m = unsigned(min(p.m - first_row, uint64_t(ROWS)));
    const unsigned valid_n = unsigned(min(p.n - first_column, uint64_t(COLUMNS)));
    const bool a_aligned = rows_aligned(p.a, p.a_row), b_aligned = rows_aligned(p.b, p.b_row);
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS;

    // A group of copies for each step, empty behind the last.
    const auto begin = [&](uint64_t step, Stage<T> &to) {
        if (step < p.k) {
            const unsigned valid_k = unsigned(min(p.k - step, uint64_t(TILE_K)));
            begin_tile<THREADS, TILE_K>(to.a, p.row_of_a(first_row) + step, p.a_row, valid_m, valid_k,
                                        a_aligned);
            begin_tile<THREADS, COLUMNS>(to.b, p.row_of_b(step) + first_column, p.b_row, valid_k, valid_n,
                                         b_aligned);
        }
        ptx::cp_async_commit_group();
    };
    for (int i = 0; i < STAGES - 1; ++i)
        begin(i * TILE_K, ring[i]);

    float sums[WARP_ROWS / 16][WARP_COLUMNS / 8][4] = {};
    unsigned now = 0, next = STAGES - 1;
    for (uint64_t step = 0; step < p.k; step += TILE_K) {
        ptx::cp_async_wait_group<STAGES - 2>();
        __syncthreads(); // all threads' copies have arrived; the stage of the last step is free
        begin(step + (STAGES - 1) * TILE_K, ring[next]);
        const Stage<T> &tiles = ring[now];
#pragma unroll
        for (int i = 0; i < TILE_K; i += STEP) {
            uint32_t a[WARP_ROWS / 16][4], b[WARP_COLUMNS / 32][4][2];
#pragma unroll
            for (int s = 0; s < WARP_COLUMNS / 32; ++s)
                load_b(&tiles.b[i], x + 32 * s, b[s]);
#pragma unroll
            for (int r = 0; r < WARP_ROWS / 16; ++r)
                load_a(&tiles.a[y + 16 * r], i, a[r]);
#pragma unroll
            for (int r = 0; r < WARP_ROWS / 16; ++r)
#pragma unroll
                for (int s = 0; s < WARP_COLUMNS / 8; ++s)
                    ptx::mma_m16n8(T(), a[r], b[s / 4][s % 4][0], b[s / 4][s % 4][1], sums[r][s]);
        }
        next = now;
        now = now + 1 == STAGES ? 0 : now + 1;
    }
    const bool aligned = p.n % 2 == 0 && reinterpret_cast<uint64_t>(p.c) % (2 * sizeof(T)) == 0;
#pragma unroll
    for (int r = 0; r < WARP_ROWS / 16; ++r)
#pragma unroll
        for (int s = 0; s < WARP_COLUMNS / 8; ++s)
            store_sums(p, first_row + y + 16 * r, first_column + x + 8 * s, aligned, sums[r][s]);
}

#define GR_RUNG t0
#define GR_TENSOR_CORES
#include "matmul/instantiate.cuh"
