// t2: the accuracy of float32, by three TF32 products.
//
// What t1 still cost: 13 fraction bits of each number.
// The change: each number is the sum of a large part, which is what tensor cores keep of it, and a small
// rest. A B = A' B' + A' b + a B', which omits the product of the two small parts. The parts of B are
// computed in registers; those of A by three warps that otherwise had no work, which write the small parts
// after the tile. The tensor cores truncate their sums, and these errors would accumulate: so they add only
// 32 steps along k, the small products first, and the threads add these sums, rounded to nearest. Infinity
// times a number without a small part becomes NaN: infinity times zero is NaN.
// What limits it now: the tensor cores, by which float32 runs at a third of TF32's speed, and shared memory,
// which is busy nine tenths of its cycles. Where it shows: three tensor-core operations instead of one; the
// error, 2.4e-7 of the norm of the result, for plain float32 5.7e-7.
#include "matmul/tma_pipeline.cuh"
#include "matmul/wgmma.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = 32, A_BYTES = ROWS * TILE_K * 4, B_BYTES = COLUMNS * TILE_K * 4 };
enum { SMALL = A_BYTES, OF_B = 2 * A_BYTES, STAGES = 4, PARTING = 96 }; // bytes in a stage; threads
typedef TmaPipeline<STAGES, OF_B + B_BYTES> Stages;
static_assert(is_planned(row_t2, ROWS, COLUMNS, TILE_K, Stages::END + STAGES * 8));

// `bytes` is the ring; `parted` is the barrier of the first stage, complete when the small parts are stored.
inline __device__ void part(uint64_t k, Stages &ring, unsigned char *bytes, uint32_t parted) {
    for (uint64_t step = 0; step < k; step += TILE_K, ring.next()) {
        ring.wait_until_full();
        uint4 *tile = reinterpret_cast<uint4 *>(bytes + (ring.tiles() - ring.at));
#pragma unroll 4
        for (unsigned i = threadIdx.x % PARTING; i < A_BYTES / 16; i += PARTING) {
            const uint4 x = tile[i];
            tile[SMALL / 16 + i] = {tf32_lo(x.x), tf32_lo(x.y), tf32_lo(x.z), tf32_lo(x.w)};
        }
        ptx::fence_proxy_async_shared();
        ptx::mbarrier_arrive(parted + 8 * ring.stage);
    }
}

inline __device__ void multiply(uint64_t k, Stages &ring, const BFragments &columns, uint32_t parted,
                                float (&sums)[ROWS / 2]) {
    uint32_t b[16];
    ring.wait_until_full();
    columns.load(ring.tiles() + OF_B, b);
    for (uint64_t step = 0; step < k; step += TILE_K) {
        uint32_t big[16], small[16];
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            big[i] = tf32_hi(b[i]);
            small[i] = tf32_lo(b[i]);
        }
        ptx::mbarrier_wait_parity(parted + 8 * ring.stage, ring.parity);
        const uint32_t tile = ring.tiles(), full = ring.full();
        float some[ROWS / 2];
        begin_products();
#pragma unroll
        for (int i = 0; i < 12; ++i)
            multiply_tf32(some, (i < 4 ? small : big) + i % 4 * 4,
                          tile_descriptor(tile + (i / 4 == 1 ? SMALL : 0) + i % 4 * 32), i == 0);
        commit_products();
        ring.next();
        if (step + TILE_K < k) { // meanwhile
            ring.wait_until_full();
            columns.load(ring.tiles() + OF_B, b);
        }
        finish_products(some);
        ring.release(full);
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i)
            sums[i] += some[i];
    }
}

extern "C" __global__ void __launch_bounds__(MATMUL_THREADS, 1)
    t2_f32(const __grid_constant__ gr_matmul_tma_params maps) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const gr_matmul_params &p = maps.product;
    const MatrixPair pair(p);
    if (pair.number >= p.pairs)
        return;
    const uint32_t parted = shared_address(bytes) + Stages::END;
    for (unsigned i = 0; i < STAGES; ++i)
        if (threadIdx.x == 0)
            ptx::mbarrier_init(parted + 8 * i, PARTING);
    Stages ring(shared_address(bytes));
    const unsigned tiles = unsigned(p.n_tiles * ((p.m + ROWS - 1) / ROWS));
    const auto produce = [&] {
        for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)
            if (threadIdx.x == 256)
                produce_f32<TILE_K, COLUMNS, A_BYTES + B_BYTES, OF_B>(maps, ring, pair,
                                                                      tile_coord<ROWS, COLUMNS>(p, number));
            else if (threadIdx.x >= 288)
                part(p.k, ring, bytes, parted);
    };
    const auto consume = [&] {
        const BFragments columns;
        for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
            float sums[ROWS / 2] = {};
            multiply(p.k, ring, columns, parted, sums);
            columns.store(p, pair.number, tile_coord<ROWS, COLUMNS>(p, number), sums);
        }
    };
    specialize_warps<56, 224>(produce, consume);
}
