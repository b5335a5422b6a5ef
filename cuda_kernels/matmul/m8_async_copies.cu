// m8: asynchronous copies, a ring of stages.
//
// What m7 still cost: the tiles passed through registers, and the instructions that store them came between
// the multiply-adds.
// The change: cp.async copies from global to shared memory by itself, 16 bytes of B at once and one element
// of A, which transposes it. Tiles of several steps are in flight in a ring of stages; a commit group of
// copies belongs to each stage, and the block waits for it when it needs the stage. The lanes are arranged in
// the warp's tile so that a load from shared memory takes half the wavefronts. What limits it now: the order
// of the multiply-adds causes conflicts of register-file banks. Where it shows: no stores to shared memory;
// registers.
#include "matmul/cp_async_pipeline.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, THREADS = 256, WARP_ROWS = 64, WARP_COLUMNS = 32, STAGES = 2, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    constexpr int TILE_K = 64 / sizeof(T);
    typedef Copies<T, TILE_K, ROWS, THREADS, true> OfA;
    typedef Copies<T, TILE_K, COLUMNS, THREADS, false> OfB;
    __shared__ alignas(16) typename OfA::Tile tile_a[STAGES];
    __shared__ alignas(16) typename OfB::Tile tile_b[STAGES];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const OfA of_a(p.a, p.a_row, first_row, p.m);
    const OfB of_b(p.b, p.b_row, first_column, p.n);
    // A warp has eight lanes along m and four along n. A load of 16 bytes from shared memory takes half the
    // wavefronts if two neighbouring lanes, or lanes two apart, read the same address: neighbours do along m,
    // lanes two apart along n.
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + threadIdx.x / 2 % 8 * 4;
    const unsigned x =
        warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + (threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2) * 4;

    // A group of copies for each step, empty behind the last.
    const auto begin = [&](uint64_t step, unsigned stage) {
        if (step < p.k) {
            of_a.begin(tile_a[stage], step, p.k);
            of_b.begin(tile_b[stage], step, p.k);
        }
        ptx::cp_async_commit_group();
    };
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage)
        begin(stage * TILE_K, stage);

    T sums[8][8] = {};
    unsigned now = 0, next = STAGES - 1;
    for (uint64_t step = 0; step < p.k; step += TILE_K) {
        ptx::cp_async_wait_group<STAGES - 2>();
        __syncthreads(); // all threads' copies have arrived, and the stage of the last step is no longer read
        begin(step + (STAGES - 1) * TILE_K, next);
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            T frag_a[8], frag_b[8];
            load_fragment<WARP_ROWS / 2>(&tile_a[now][i][y], frag_a);
            load_fragment<WARP_COLUMNS / 2>(&tile_b[now][i][x], frag_b);
            add_products(frag_a, frag_b, sums);
        }
        next = now;
        now = now + 1 == STAGES ? 0 : now + 1;
    }
    store_results<WARP_ROWS / 2, WARP_COLUMNS / 2>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m8
#include "matmul/instantiate.cuh"
