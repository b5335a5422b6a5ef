// t3: bfloat16 and float16; persistent blocks in clusters, whose results the copy engine stores.
//
// What t1 and t2 still cost: float32 has twice the bytes, and its B had to pass through registers; a block
// that stores its results does not multiply, and neighbouring blocks load the same tiles.
// The change: for 2-byte elements, wgmma reads both operands from shared memory, rows of B unchanged. The two
// blocks of a cluster compute tiles one above the other, and each loads half of their tile of B, which the
// engine multicasts to both. There are as many blocks as multiprocessors; each computes tile after tile, and
// its copies for the next tile are in flight while it stores: stmatrix writes the results to shared memory in
// the order of a tensor map, and the engine copies them to C. A transposed B, whose elements are contiguous
// along k, is read as it is, by kernels of their own. What limits it now: the power limit of the
// chip. Where it shows: bytes copied, a third less; no stores.
#include "matmul/k_parts.cuh"
#include "matmul/tma_pipeline.cuh"
#include "matmul/wgmma.cuh"

using namespace gr::matmul;

enum { ROWS = 128, TILE_K = 64, BOX = 64, ROW_BYTES = 2 * BOX, A_BYTES = ROWS * TILE_K * 2 };

// Small products are of narrow tiles, so that more multiprocessors have one, and of more stages. Narrow tiles
// take several parts of k, each of which begins with sums of zero.
template <int COLUMNS_, int STAGES_, int CLUSTER_, bool K_MAJOR_ = false> struct Shape {
    static constexpr int COLUMNS = COLUMNS_, STAGES = STAGES_, CLUSTER = CLUSTER_;
    static constexpr bool K_MAJOR = K_MAJOR_; // B has n rows of k elements
    typedef Shape<COLUMNS, STAGES, CLUSTER, true> KMajor;
    static constexpr int B_BYTES = COLUMNS * TILE_K * 2, C_BYTES = ROWS * COLUMNS * 2;
    typedef TmaPipeline<STAGES, A_BYTES + B_BYTES, CLUSTER> Stages;
    typedef float Sums[COLUMNS / 2];
};
typedef Shape<256, 3, 2> Wide;
typedef Shape<64, 6, 1> Narrow;
static_assert(is_planned(row_t3, ROWS, Wide::COLUMNS, TILE_K, Wide::C_BYTES + Wide::Stages::END) &&
              row_t3.cluster == Wide::CLUSTER && row_t3_narrow_2.cluster == Narrow::CLUSTER &&
              is_planned(row_t3_narrow_2, ROWS, Narrow::COLUMNS, TILE_K,
                         Narrow::C_BYTES + Narrow::Stages::END));

template <class S> __device__ TileCoord place_in_cluster(const gr_matmul_params &p, unsigned number) {
    TileCoord place = tile_coord<ROWS * S::CLUSTER, S::COLUMNS>(p, number);
    place.row += blockIdx.x % S::CLUSTER * ROWS;
    return place;
}

template <class S>
__device__ void bring(const gr_matmul_tma_params &maps, typename S::Stages &ring, const MatrixPair &pair,
                      TileCoord place) {
    constexpr unsigned SHARE = S::COLUMNS / S::CLUSTER;
    const unsigned first = blockIdx.x % S::CLUSTER * SHARE;
    const unsigned a_bytes = S::CLUSTER == 1 ? unsigned(maps.a_box) * ROW_BYTES : A_BYTES;
    for (uint64_t step = 0; step < maps.product.k; step += TILE_K, ring.next()) {
        ring.wait_until_empty(a_bytes + S::B_BYTES);
        ptx::cp_async_bulk_tensor(ring.tiles(), &maps.a, {uint32_t(step), place.row, pair.a}, ring.full());
        for (unsigned i = first; i < first + SHARE; i += BOX) {
            const uint32_t column = place.column + i, k = uint32_t(step);
            tma_load_cluster<S::CLUSTER>(ring.tiles() + A_BYTES + i * TILE_K * 2, &maps.b,
                                         {S::K_MAJOR ? k : column, S::K_MAJOR ? column : k, pair.b},
                                         ring.full());
        }
    }
}

template <class S, class T>
__device__ void multiply(const gr_matmul_params &p, typename S::Stages &ring, unsigned group,
                         typename S::Sums &sums) {
    uint32_t last = 0;
    typename S::Sums totals;
    const KParts<T> parts(p.k, S::CLUSTER == 1 ? unsigned(p.rounds) : 1);
    unsigned part = 0;
    uint64_t end = S::CLUSTER == 1 ? parts.begin(1) : p.k;
    const auto add_part = [&] {
        finish_products(sums);
#pragma unroll
        for (int i = 0; i < S::COLUMNS / 2; ++i)
            totals[i] = part == 0 ? sums[i] : totals[i] + sums[i];
    };
    for (uint64_t step = 0; step < p.k; step += TILE_K, ring.next()) {
        if (S::CLUSTER == 1 && step == end) {
            add_part();
#pragma unroll
            for (int i = 0; i < S::COLUMNS / 2; ++i)
                sums[i] = 0;
            end = parts.begin(++part + 1);
        }
        ring.wait_until_full();
        const uint32_t a = ring.tiles() + group * A_BYTES / 2, b = ring.tiles() + A_BYTES;
        begin_products();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (S::K_MAJOR)
                multiply_k_major(T(), sums, tile_descriptor(a + 32 * i), tile_descriptor(b + 32 * i));
            else
                multiply(T(), sums, tile_descriptor(a + 32 * i),
                         tile_descriptor(b + 16 * ROW_BYTES * i, TILE_K * ROW_BYTES));
        commit_products();
        wait_for_products<1>(); // those of the step before are done
        if (last)
            ring.release(last);
        last = ring.full();
    }
    finish_products(sums);
    if (last)
        ring.release(last);
    if (S::CLUSTER == 1 && part > 0)
#pragma unroll
        for (int i = 0; i < S::COLUMNS / 2; ++i)
            sums[i] += totals[i];
}

// The results of this group of four warps, 64 rows, from `staging` to C, where the engine cannot store them:
// a warp takes a row, so that neighbours store neighbours.
template <class S, class T>
__device__ void store_rows(const gr_matmul_params &p, const MatrixPair &pair, TileCoord place,
                           uint32_t staging) {
    T *c = reinterpret_cast<T *>(p.c) + pair.number * p.m * p.n;
    const unsigned lane = threadIdx.x % 32;
    for (unsigned y = threadIdx.x / 32 % 4; y < ROWS / 2 && place.row + y < p.m; y += 4) {
        T row[S::COLUMNS / 32];
#pragma unroll
        for (unsigned i = 0; i < S::COLUMNS / 32; ++i) {
            const unsigned x = 32 * i + lane;
            row[i] = load_half<T>(staging + x / BOX * (ROWS / 2 * ROW_BYTES) + piece_at(y, x % BOX / 8) +
                                  x % 8 * 2);
        }
#pragma unroll
        for (unsigned i = 0; i < S::COLUMNS / 32; ++i)
            if (place.column + 32 * i + lane < p.n)
                c[(place.row + uint64_t(y)) * p.n + place.column + 32 * i + lane] = row[i];
    }
}

// The results of this group, by way of shared memory.
template <class S, class T>
__device__ void store(const gr_matmul_tma_params &maps, const MatrixPair &pair, TileCoord place,
                      unsigned group, uint32_t staging, const typename S::Sums &sums) {
    const unsigned row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 16, right = threadIdx.x % 32 / 16;
    place.row += group * ROWS / 2;
    if (threadIdx.x % 128 == 0)
        ptx::cp_async_bulk_wait_group_read<0>(); // of the tile before
    group_barrier(group);
#pragma unroll
    for (int i = 0; i < S::COLUMNS / 16; ++i)
        store_rounded<T>(staging + i / 4 * (ROWS / 2 * ROW_BYTES) + piece_at(row, i % 4 * 2 + right),
                         sums + 8 * i);
    ptx::fence_proxy_async_shared();
    group_barrier(group);
    if (!maps.stores_c_by_tma)
        store_rows<S, T>(maps.product, pair, place, staging);
    else if (threadIdx.x % 128 == 0) {
        for (unsigned i = 0; i < S::COLUMNS; i += BOX)
            ptx::cp_async_bulk_tensor(&maps.c, {place.column + i, place.row, uint32_t(pair.number)},
                                      staging + i * (ROWS / 2 * 2));
        ptx::cp_async_bulk_commit_group();
    }
}

// Clears the rows of A of all stages that no box brings.
template <class S> __device__ void clear_rows(unsigned char *stages, unsigned from_row) {
    constexpr unsigned VECTORS = ROW_BYTES / 16;
    for (unsigned i = threadIdx.x; i < (ROWS - from_row) * VECTORS; i += MATMUL_THREADS)
#pragma unroll
        for (int stage = 0; stage < S::STAGES; ++stage)
            reinterpret_cast<uint4 *>(stages + stage * (A_BYTES + S::B_BYTES))[from_row * VECTORS + i] = {};
    ptx::fence_proxy_async_shared();
    __syncthreads();
}

template <class S, class T> __device__ void matmul(const gr_matmul_tma_params &maps) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const gr_matmul_params &p = maps.product;
    const MatrixPair pair(p);
    if (pair.number >= p.pairs)
        return;
    typename S::Stages ring(shared_address(bytes) + S::C_BYTES);
    if (S::CLUSTER == 1 && maps.a_box < ROWS)
        clear_rows<S>(bytes + S::C_BYTES, unsigned(maps.a_box));
    const unsigned tiles = unsigned(p.n_tiles * ((p.m + ROWS * S::CLUSTER - 1) / (ROWS * S::CLUSTER)));
    const unsigned first = blockIdx.x / S::CLUSTER, step = gridDim.x / S::CLUSTER, group = threadIdx.x / 128;
    pdl_launch_dependents();
    pdl_wait();
    if (group == 2) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 256)
            for (unsigned number = first; number < tiles; number += step)
                bring<S>(maps, ring, pair, place_in_cluster<S>(p, number));
    } else {
        setmaxnreg_inc<232>();
        for (unsigned number = first; number < tiles; number += step) {
            const TileCoord place = place_in_cluster<S>(p, number);
            typename S::Sums sums = {};
            multiply<S, T>(p, ring, group, sums);
            store<S, T>(maps, pair, place, group, shared_address(bytes) + group * (S::C_BYTES / 2), sums);
        }
        if (threadIdx.x % 128 == 0)
            ptx::cp_async_bulk_wait_group_read<0>();
    }
    if (S::CLUSTER > 1) { // a block's shared memory stays as long as the other may write to it
        __syncwarp();
        ptx::barrier_cluster_relaxed();
    }
}

#define GR_MATMUL(name, S, T)                                                                                \
    extern "C" __global__ void __cluster_dims__(S::CLUSTER, 1, 1) __launch_bounds__(MATMUL_THREADS, 1)       \
        name(const __grid_constant__ gr_matmul_tma_params maps) {                                            \
        matmul<S, T>(maps);                                                                                  \
    }

GR_MATMUL(t3_bf16, Wide, gr_bf16)
GR_MATMUL(t3_f16, Wide, gr_f16)
GR_MATMUL(t3_narrow_bf16, Narrow, gr_bf16)
GR_MATMUL(t3_narrow_f16, Narrow, gr_f16)
GR_MATMUL(t3_k_major_bf16, Wide::KMajor, gr_bf16)
GR_MATMUL(t3_k_major_f16, Wide::KMajor, gr_f16)
GR_MATMUL(t3_narrow_k_major_bf16, Narrow::KMajor, gr_bf16)
GR_MATMUL(t3_narrow_k_major_f16, Narrow::KMajor, gr_f16)
