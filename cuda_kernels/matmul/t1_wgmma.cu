// t1: wgmma, tensor maps, warps with roles.
//
// What t0 still cost: every fragment passed through registers, and the warps that multiply also copied.
// The change: wgmma, by which four warps together multiply 64 columns of B with 256 rows of A; the tensor
// cores read the rows from shared memory themselves. One thread asks the copy engine for whole tiles, which
// tensor maps describe; the engine inserts zeros beyond the end of a matrix, rounds float32 to TF32, and
// swizzles 16-byte chunks so that there are no bank conflicts. The other warps only multiply, and have the
// registers that the first ones release. A ring of four stages connects them. What limits it now: the power
// limit of the chip, which lowers its clock. Where it shows: no copy instructions, next to no loads; one warp
// of four is idle.
#include "common/entry.cuh"
#include "matmul/k_parts.cuh"
#include "matmul/tma_pipeline.cuh"
#include "matmul/wgmma.cuh"

using namespace gr::matmul;

enum { COLUMNS = 128, TILE_K = 32, B_BYTES = COLUMNS * TILE_K * 4 };

// Small products are of low tiles, so that more multiprocessors have one, and of more stages. Low tiles take
// several parts of k, each of which begins with sums of zero.
template <int ROWS_, int STAGES> struct Shape {
    static constexpr int ROWS = ROWS_, A_BYTES = ROWS * TILE_K * 4;
    typedef TmaPipeline<STAGES, A_BYTES + B_BYTES> Stages;
};
typedef Shape<256, 4> High;
typedef Shape<64, 8> Low;
static_assert(is_planned(row_t1, High::ROWS, COLUMNS, TILE_K, High::Stages::END) &&
              is_planned(row_t1_low_4, Low::ROWS, COLUMNS, TILE_K, Low::Stages::END));

template <class S>
__device__ void multiply(const gr_matmul_params &p, typename S::Stages &ring, const MatrixPair &pair,
                         TileCoord place) {
    const BFragments columns;
    float sums[S::ROWS / 2] = {}, totals[S::ROWS == 64 ? S::ROWS / 2 : 1];
    const KParts<float> parts(p.k, S::ROWS == 64 ? unsigned(p.rounds) : 1);
    unsigned part = 0;
    uint64_t end = S::ROWS == 64 ? parts.begin(1) : p.k;
    for (uint64_t step = 0; step < p.k; step += TILE_K, ring.next()) {
        if (S::ROWS == 64 && step == end) {
#pragma unroll
            for (int i = 0; i < S::ROWS / 2; ++i) {
                totals[S::ROWS == 64 ? i : 0] = part == 0 ? sums[i] : totals[S::ROWS == 64 ? i : 0] + sums[i];
                sums[i] = 0;
            }
            end = parts.begin(++part + 1);
        }
        uint32_t b[16];
        ring.wait_until_full();
        columns.load(ring.tiles() + S::A_BYTES, b);
        begin_products();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            multiply_tf32(sums, b + 4 * i, tile_descriptor(ring.tiles() + 32 * i));
        commit_products();
        finish_products(sums);
        ring.release(ring.full());
    }
    if (S::ROWS == 64 && part > 0)
#pragma unroll
        for (int i = 0; i < S::ROWS / 2; ++i)
            sums[i] += totals[S::ROWS == 64 ? i : 0];
    columns.store(p, pair.number, place, sums);
}

template <class S> __device__ void matmul(const gr_matmul_tma_params &maps) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const MatrixPair pair(maps.product);
    if (pair.number >= maps.product.pairs)
        return;
    typename S::Stages ring(shared_address(bytes));
    const TileCoord place = tile_coord<S::ROWS, COLUMNS>(maps.product, blockIdx.x);
    const auto produce = [&] {
        if (threadIdx.x == 256)
            produce_f32<TILE_K, COLUMNS, S::A_BYTES + B_BYTES, S::A_BYTES>(maps, ring, pair, place);
    };
    specialize_warps<40, 232>(produce, [&] { multiply<S>(maps.product, ring, pair, place); });
}

GR_ENTRY((MATMUL_THREADS, 1), t1_f32, __grid_constant__ gr_matmul_tma_params, matmul<High>)
GR_ENTRY((MATMUL_THREADS, 1), t1_low_f32, __grid_constant__ gr_matmul_tma_params, matmul<Low>)
