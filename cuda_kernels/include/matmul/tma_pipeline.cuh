// Common parts of the rungs whose tiles TMA brings: the pipeline of stages between the warp that asks for
// tiles (the producer) and the warps that multiply them (the consumers), the order of the tiles of C, and
// fragments of B.
#pragma once

#include "matmul/matmul.cuh"
#include "matmul/tma.cuh"
#include "matmul/vec16_rows.cuh"

namespace gr::matmul {

// Two groups of 128 threads multiply; one of another 128 asks for copies.
enum { MATMUL_THREADS = 384, READING_WARPS = 8 };

// Whether a row of rungs.def or small_tiles.def has the tile of a kernel, its bytes of shared memory, and the
// boxes of its tensor maps.
constexpr bool is_planned(const RungRow &row, unsigned rows, unsigned columns, unsigned tile_k,
                          unsigned shared) {
    return row.rows == rows && row.columns == columns && row.threads == MATMUL_THREADS &&
           row.shared >= shared && row.a_box == rows && row.b_box == tile_k;
}

// Waits for the other warps of a group of four that multiplies.
inline __device__ void group_barrier(unsigned group) {
    ptx::barrier_sync<128>(1 + group);
}

// A pipeline of stages for tiles, with two mbarriers each: a phase of `full` ends when the tiles have
// arrived, a phase of `empty`, 8 bytes behind it, when all warps that read them have released the stage. Each
// thread keeps its own stage and parity. Storage says where the tiles are (at) and the barriers (barriers()),
// and how many `stages` of how many `bytes` there are.
template <class Storage> struct Pipeline : Storage {
    unsigned stage = 0, parity = 0;

    // `readers`: the arrivals that empty a stage.
    __device__ Pipeline(const Storage &storage, unsigned readers) : Storage(storage) {
        if (threadIdx.x == 0)
            for (unsigned i = 0; i < this->stages; ++i) {
                ptx::mbarrier_init(this->barriers() + 16 * i, 1);
                ptx::mbarrier_init(this->barriers() + 16 * i + 8, readers);
            }
    }
    __device__ uint32_t tiles() const {
        return this->at + stage * this->bytes;
    }
    __device__ uint32_t full() const {
        return this->barriers() + 16 * stage;
    }
    __device__ void next() {
        if (++stage == this->stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    // Producer acquire: waits for an empty stage and announces bytes, which copies to tiles() bring.
    __device__ void wait_until_empty(unsigned announced) const {
        ptx::mbarrier_wait_parity(full() + 8, parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(full(), announced);
    }
    __device__ void wait_until_full() const {
        ptx::mbarrier_wait_parity(full(), parity);
    }
    // Consumer release: this warp no longer reads the stage with this full().
    __device__ void release(uint32_t full) const {
        if (threadIdx.x % 32 == 0)
            ptx::mbarrier_arrive(full + 8);
    }
};

// STAGES stages of BYTES bytes from `at` on, and their barriers behind them.
template <int STAGES, int BYTES> struct FixedStages {
    static constexpr unsigned stages = STAGES, bytes = BYTES;
    uint32_t at;

    __device__ uint32_t barriers() const {
        return at + STAGES * BYTES;
    }
};

// The blocks of a cluster, CLUSTER of them, get the same tiles: a stage is empty when the warps of all have
// released it.
template <int STAGES, int BYTES, int CLUSTER = 1> struct TmaPipeline : Pipeline<FixedStages<STAGES, BYTES>> {
    static constexpr unsigned END = STAGES * (BYTES + 16); // bytes of shared memory

    __device__ explicit TmaPipeline(uint32_t at)
        : Pipeline<FixedStages<STAGES, BYTES>>({at}, READING_WARPS * CLUSTER) {
        if (threadIdx.x == 0)
            ptx::fence_mbarrier_init();
        if (CLUSTER > 1)
            ptx::barrier_cluster_relaxed();
        else
            __syncthreads();
    }
    __device__ void release(uint32_t full) const {
        const unsigned lane = threadIdx.x % 32;
        if (CLUSTER > 1 && lane < CLUSTER)
            ptx::mbarrier_arrive_cluster(full + 8, lane);
        else if (CLUSTER == 1 && lane == 0)
            ptx::mbarrier_arrive(full + 8);
    }
};

// Where a tile of C begins. Tiles are numbered down a band of BAND rows of tiles, column by column, and then
// through the next band, so that those which are made at the same time share rows of A and columns of B.
struct TileCoord {
    uint32_t row, column;
};

template <int ROWS, int COLUMNS, int BAND = 8>
__device__ TileCoord tile_coord(const gr_matmul_params &p, unsigned number) {
    const unsigned tiles_n = unsigned(p.n_tiles), tiles_m = unsigned((p.m + ROWS - 1) / ROWS);
    const unsigned band = number / (BAND * tiles_n), in = number - band * BAND * tiles_n;
    const unsigned high = min(unsigned(BAND), tiles_m - BAND * band);
    return {(band * BAND + in % high) * ROWS, in / high * COLUMNS};
}

// The pair of matrices of a block, and where their maps have them.
struct MatrixPair {
    uint64_t number;
    uint32_t a, b;

    __device__ explicit MatrixPair(const gr_matmul_params &p)
        : number(matrix_of_block()), a(uint32_t(stack_offset(p, p.a_stack, number))),
          b(uint32_t(stack_offset(p, p.b_stack, number))) {
    }
};

// Begins the copies of the tiles of float32 of each step along k, TILE_K elements of it: rows of A, and OF_B
// bytes behind them rows of B, in boxes of 32 columns. BYTES in all.
template <int TILE_K, int COLUMNS, int BYTES, int OF_B, class Pipeline>
__device__ void produce_f32(const gr_matmul_tma_params &maps, Pipeline &ring, const MatrixPair &pair,
                            TileCoord place) {
    for (uint64_t step = 0; step < maps.product.k; step += TILE_K, ring.next()) {
        ring.wait_until_empty(BYTES);
        ptx::cp_async_bulk_tensor(ring.tiles(), &maps.a, {uint32_t(step), place.row, pair.a}, ring.full());
        for (unsigned i = 0; i < COLUMNS; i += 32)
            ptx::cp_async_bulk_tensor(ring.tiles() + OF_B + i * TILE_K * 4, &maps.b,
                                      {place.column + i, uint32_t(step), pair.b}, ring.full());
    }
}

// The roles of warps: the last four produce tiles, and the others, which get registers from them, consume.
template <int PRODUCER_REGISTERS, int CONSUMER_REGISTERS, class Produce, class Consume>
__device__ void specialize_warps(const Produce &produce, const Consume &consume) {
    pdl_launch_dependents();
    pdl_wait();
    if (threadIdx.x >= 256) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        produce();
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        consume();
    }
}

// Fragments of 64 columns of B for a group of four warps, as the 64 rows of a wgmma operand: the warps
// compute C^T = B^T A^T, with rows of A in shared memory, because wgmma takes 4-byte operands only from rows
// along k, and rows of B are not. A tile has 32 rows of B in boxes of 32 columns, 128 bytes per row, whose
// 16-byte pieces are swizzled (swizzle 128). Each thread has two neighbouring columns, and every fourth row;
// columns are assigned so that a warp has no bank conflicts.
struct BFragments {
    unsigned first;               // of the two, in the block's tile
    uint32_t even_rows, odd_rows; // bytes from the tile to its elements

    __device__ BFragments() {
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = lane / 4;
        const unsigned piece = warp % 2 * 2 + i / 4 + i / 2 % 2 * 4, row = lane % 4;
        first = warp / 2 * 32 + piece * 4 + i % 2 * 2;
        even_rows = warp / 2 * 4096 + row * 128 + (piece ^ row) * 16 + i % 2 * 8;
        odd_rows = warp / 2 * 4096 + (row + 4) * 128 + (piece ^ (row + 4)) * 16 + i % 2 * 8;
    }

    // The fragments for 32 rows, four for each of four products.
    __device__ void load(uint32_t tile, uint32_t (&to)[16]) const {
#pragma unroll
        for (int i = 0; i < 16; i += 2)
            asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                         : "=r"(to[i]), "=r"(to[i + 1])
                         : "r"(tile + (i % 4 == 0 ? even_rows : odd_rows) + i / 4 * 1024)
                         : "memory");
    }

    // The sums of 2 LENGTH rows of C: those of a row come in pairs of this thread's columns.
    template <int LENGTH>
    __device__ void store(const gr_matmul_params &p, uint64_t pair, TileCoord place,
                          const float (&sums)[LENGTH]) const {
        const uint64_t column = place.column + first;
        float *c = reinterpret_cast<float *>(p.c) + pair * p.m * p.n + column;
        const bool aligned = p.n % 2 == 0 && p.c % 8 == 0;
#pragma unroll
        for (int i = 0; i < LENGTH; i += 2) {
            const uint64_t row = place.row + i / 4 * 8 + threadIdx.x % 4 * 2 + i / 2 % 2;
            const float x = sums[i / 4 * 4 + i / 2 % 2], y = sums[i / 4 * 4 + i / 2 % 2 + 2];
            if (row < p.m && column < p.n)
                store_pair(c + row * p.n, aligned, column, p.n, x, y);
        }
    }
};

} // namespace gr::matmul
