// t4: the accuracy of float32, by three float16 products.
//
// What t2 still cost: TF32 products take twice the time of float16 products, which have as many fraction
// bits, and splitting the numbers used shared memory while the tensor cores needed it.
// The change: other kernels split all of A and B first, into a large and a small float16 each, so that all
// four parts are loaded as tiles. float16 has a smaller range: rows of A and columns of B are first
// multiplied by powers of two, and the results divided by them. Numbers that are 2^16 times smaller than the
// largest of their row or column lose digits that float32 would keep. Sums are added as in t2, for 64 steps
// along k; infinity times a number without a small part becomes NaN.
// What limits it now: shared memory, which the tensor cores read all the time. Where it shows: half of t2's
// tensor-core operations; bytes of shared memory.
#include "matmul/half_split.cuh"
#include "matmul/tma_pipeline.cuh"
#include "matmul/wgmma.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = 64, BOX = 64, PART = 16384, SMALL = PART, OF_B = 2 * PART };
typedef TmaPipeline<3, 4 * PART> Stages;
static_assert(is_planned(row_t4, ROWS, COLUMNS, TILE_K, Stages::END));

inline __device__ void bring(const gr_matmul_tma_params &maps, Stages &ring, const MatrixPair &pair,
                             TileCoord place) {
    for (uint64_t step = 0; step < maps.product.k; step += TILE_K, ring.next()) {
        ring.wait_until_empty(4 * PART);
        for (unsigned small = 0; small < 2; ++small) {
            const uint32_t to = ring.tiles() + small * SMALL;
            ptx::cp_async_bulk_tensor(to, &maps.a, {uint32_t(step), place.row, 2 * pair.a + small},
                                      ring.full());
            for (unsigned i = 0; i < COLUMNS; i += BOX)
                ptx::cp_async_bulk_tensor(to + OF_B + i * TILE_K * 2, &maps.b,
                                          {place.column + i, uint32_t(step), 2 * pair.b + small},
                                          ring.full());
        }
    }
}

inline __device__ void multiply(uint64_t k, Stages &ring, unsigned group, float (&sums)[COLUMNS / 2]) {
    for (uint64_t step = 0; step < k; step += TILE_K, ring.next()) {
        ring.wait_until_full();
        const uint32_t a = ring.tiles() + group * PART / 2, b = ring.tiles() + OF_B;
        float some[COLUMNS / 2];
        begin_products();
#pragma unroll
        for (int i = 0; i < 12; ++i) // the small parts of A, those of B, and no small parts
            multiply(gr_f16(), some, tile_descriptor(a + (i < 4 ? SMALL : 0) + i % 4 * 32),
                     tile_descriptor(b + (i / 4 == 1 ? SMALL : 0) + i % 4 * 2048, TILE_K * 128), i == 0);
        commit_products();
        finish_products(some);
        ring.release(ring.full());
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; ++i)
            sums[i] += some[i];
    }
}

inline __device__ void store(const gr_matmul_f16x3_params &halves, const MatrixPair &pair, TileCoord place,
                             const float (&sums)[COLUMNS / 2]) {
    const gr_matmul_params &p = halves.maps.product;
    const float *of_a = reinterpret_cast<const float *>(halves.a_scales) + pair.a * p.m;
    const float *of_b = reinterpret_cast<const float *>(halves.b_scales) + pair.b * p.n;
    const uint64_t first_row = place.row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const uint64_t first_column = place.column + threadIdx.x % 4 * 2;
    const bool aligned = p.n % 2 == 0 && p.c % 8 == 0;
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; i += 2) {
        const uint64_t row = first_row + i / 2 % 2 * 8, column = first_column + i / 4 * 8;
        if (row >= p.m || column >= p.n)
            continue;
        float *to = reinterpret_cast<float *>(p.c) + (pair.number * p.m + row) * p.n + column;
        const unsigned next = column + 1 < p.n;
        store_pair(to, aligned, column, uint64_t(p.n), sums[i] * of_a[row] * of_b[column],
                   sums[i + 1] * of_a[row] * of_b[column + next]);
    }
}

extern "C" __global__ void __launch_bounds__(MATMUL_THREADS, 1)
    t4_f32(const __grid_constant__ gr_matmul_f16x3_params halves) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const gr_matmul_params &p = halves.maps.product;
    const MatrixPair pair(p);
    if (pair.number >= p.pairs)
        return;
    Stages ring(shared_address(bytes));
    const unsigned tiles = unsigned(p.n_tiles * ((p.m + ROWS - 1) / ROWS));
    const auto produce = [&] {
        if (threadIdx.x == 256)
            for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)
                bring(halves.maps, ring, pair, tile_coord<ROWS, COLUMNS>(p, number));
    };
    const auto consume = [&] {
        for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
            float sums[COLUMNS / 2] = {};
            multiply(p.k, ring, threadIdx.x / 128, sums);
            store(halves, pair, tile_coord<ROWS, COLUMNS>(p, number), sums);
        }
    };
    specialize_warps<40, 232>(produce, consume);
}
