// t5: float64 on tensor cores.
//
// What m8 still cost: tensor cores multiply float64, too, twice as fast as all other units together.
// The change: mma.sync of 16 by 16 elements of A with 16 by 8 of B. Each product is rounded once as it is
// added, in the order of k: the result is bitwise that of m8, except where k is split. Each group of warps of
// a small tile, each slice and each round takes a part of k, and the parts are added up in their order. Tiles
// are loaded by tensor maps through a ring of stages, as in t1; the fragments pass through registers, since
// wgmma does not support float64. Persistent blocks load the next tile while they store the last one. A
// product of complex numbers is four real products. What limits it now: the tensor cores, nine tenths of the
// time at 4096^3. Where it shows: tensor-core operations; next to no other multiply-adds.
#include "common/entry.cuh"
#include "matmul/double.cuh"
#include "matmul/split_k.cuh"

using namespace gr::matmul;

// Waits for all warps that multiply.
inline __device__ void barrier_of_readers() {
    ptx::barrier_sync<1, 256>();
}

// The tile of a block, the tile of a warp, and the groups of warps, each of which takes the same tile and a
// part of k.
template <class Of_, int ROWS_, int COLUMNS_, int WARP_ROWS_, int WARP_COLUMNS_, int STAGES> struct Shape {
    typedef Of_ Of;
    enum { ROWS = ROWS_, COLUMNS = COLUMNS_, WARP_ROWS = WARP_ROWS_, WARP_COLUMNS = WARP_COLUMNS_ };
    enum { WARPS = ROWS * COLUMNS / (WARP_ROWS * WARP_COLUMNS), GROUPS = READING_WARPS / WARPS };
    enum { BOX = 128 / Of::BYTES, WORDS = Of::BYTES / 8, A_BYTES = ROWS * TILE_K * Of::BYTES };
    enum { BYTES = A_BYTES + COLUMNS * TILE_K * Of::BYTES };
    typedef TmaPipeline<STAGES, GROUPS * BYTES> Stages;
    struct Sums {
        typename Of::Sums of[WARP_ROWS / 16][WARP_COLUMNS / 8];
    };
    // Bytes of shared memory: the stages, and behind them the sums of all groups but the first.
    static constexpr unsigned SHARED = Stages::END + (GROUPS - 1) * WARPS * 32 * sizeof(Sums);
};

// The parts of k of the groups of a block, which follow each other: stages of TILE_K elements, the same
// number of them or one more for the first parts.
struct KParts {
    unsigned each, more, first; // stages of a part; parts with one more; the part of the first group

    template <class S>
    static __device__ KParts of(const gr_matmul_params &p, const MatrixPair &pair, unsigned round) {
        const unsigned slice = unsigned(pair.number / (p.pairs / p.slices)), slices = unsigned(p.slices);
        const unsigned parts = S::GROUPS * slices * unsigned(p.rounds);
        const unsigned stages = unsigned((p.k + TILE_K - 1) / TILE_K);
        return {stages / parts, stages % parts, S::GROUPS * (round * slices + slice)};
    }
    __device__ unsigned begin(unsigned group) const {
        return (each * (first + group) + min(first + group, more)) * TILE_K;
    }
    // The stages of a group, and of the first one, which has as many as any other.
    __device__ unsigned count(unsigned group) const {
        return each + (first + group < more ? 1 : 0);
    }
};

// A group that has a stage less than the first one gets zeros instead: what lies behind the last column of A.
template <class S>
__device__ void bring(const gr_matmul_tma_params &maps, typename S::Stages &ring, const MatrixPair &pair,
                      KParts parts, TileCoord place) {
    const uint32_t end = uint32_t((maps.product.k + TILE_K - 1) / TILE_K * TILE_K);
    for (unsigned stage = 0; stage < parts.count(0); ++stage, ring.next()) {
        ring.wait_until_empty(S::GROUPS * S::BYTES);
        for (unsigned group = 0; group < S::GROUPS; ++group) {
            const bool any = stage < parts.count(group);
            const uint32_t to = ring.tiles() + group * S::BYTES;
            const uint32_t k = any ? parts.begin(group) + stage * TILE_K : end;
            for (unsigned i = 0; i < TILE_K; i += S::BOX)
                ptx::cp_async_bulk_tensor(to + i * S::ROWS * S::Of::BYTES, &maps.a,
                                          {uint32_t((k + i) * S::WORDS), place.row, pair.a}, ring.full());
            for (unsigned i = 0; i < S::COLUMNS; i += S::BOX)
                ptx::cp_async_bulk_tensor(to + S::A_BYTES + i * TILE_K * S::Of::BYTES, &maps.b,
                                          {(place.column + i) * S::WORDS, uint32_t(k), pair.b}, ring.full());
        }
    }
}

// A stage is let go of in the step after it, `before` being its full(): the products of its last fragments
// have begun by then, so that these were read. An arrival at a barrier waits for no loads by itself: let go
// of in its own step, a stage was written again before its last loads, on an H200 that stored odd rows
// besides.
template <class S>
__device__ void multiply(unsigned stages, typename S::Stages &ring, const typename S::Of &lane,
                         unsigned group, uint32_t &before, typename S::Sums &sums) {
    for (unsigned stage = 0; stage < stages; ++stage, ring.next()) {
        ring.wait_until_full();
        const uint32_t tile = ring.tiles() + group * S::BYTES;
#pragma unroll
        for (int half = 0; half < S::Of::HALVES; ++half) {
            typename S::Of::B b[S::WARP_COLUMNS / 8];
#pragma unroll
            for (int s = 0; s < S::WARP_COLUMNS / 8; ++s)
                b[s] = lane.load_b(tile + S::A_BYTES, half, s);
#pragma unroll
            for (int r = 0; r < S::WARP_ROWS / 16; ++r) {
                const typename S::Of::A a = lane.load_a(tile + half * S::ROWS * 128, 16 * r);
#pragma unroll
                for (int s = 0; s < S::WARP_COLUMNS / 8; ++s)
                    lane.multiply(a, b[s], sums.of[r][s]);
                if (half == 0 && r == 0 && before != 0)
                    ring.release(before);
            }
        }
        before = ring.full();
        __syncwarp();
    }
    // A sum of -0 becomes 0 in every kernel, as it does in a group that gets zeros at its end.
    double *own = reinterpret_cast<double *>(&sums);
#pragma unroll
    for (unsigned i = 0; i < sizeof sums / sizeof(double); ++i)
        own[i] += 0.0;
}

// The first group adds the sums of the others to its own, in their order.
template <class S> __device__ void add_up(double *room, unsigned group, typename S::Sums &sums) {
    constexpr unsigned COUNT = sizeof sums / sizeof(double), THREADS = 32 * S::WARPS;
    double *own = reinterpret_cast<double *>(&sums), *place = room + threadIdx.x % THREADS;
    barrier_of_readers(); // the sums of the last tile were read
    if (group > 0)
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            place[((group - 1) * COUNT + i) * THREADS] = own[i];
    barrier_of_readers();
    if (group == 0)
#pragma unroll
        for (unsigned other = 1; other < S::GROUPS; ++other)
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                own[i] += place[((other - 1) * COUNT + i) * THREADS];
}

template <class S>
__device__ void store(const gr_matmul_params &p, const typename S::Of &lane, uint64_t pair, TileCoord place,
                      const typename S::Sums &sums) {
#pragma unroll
    for (int r = 0; r < S::WARP_ROWS / 16; ++r)
#pragma unroll
        for (int s = 0; s < S::WARP_COLUMNS / 8; ++s)
            lane.store(p, pair, place, 16 * r, s, sums.of[r][s]);
}

// Adds the sums to what this thread stored in the round before.
template <class S>
__device__ void add_to_c(const gr_matmul_params &p, const typename S::Of &lane, uint64_t pair,
                         TileCoord place, typename S::Sums &sums) {
#pragma unroll
    for (int r = 0; r < S::WARP_ROWS / 16; ++r)
#pragma unroll
        for (int s = 0; s < S::WARP_COLUMNS / 8; ++s)
            lane.add(p, pair, place, 16 * r, s, sums.of[r][s]);
}

template <class S> __device__ void matmul(const gr_matmul_tma_params &maps) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const gr_matmul_params &p = maps.product;
    const MatrixPair pair(p);
    if (pair.number >= p.pairs)
        return;
    typename S::Stages ring(shared_address(bytes));
    const unsigned tiles = unsigned(p.n_tiles * ((p.m + S::ROWS - 1) / S::ROWS));
    const unsigned rounds = unsigned(p.rounds);
    pdl_launch_dependents();
    pdl_wait();
    if (threadIdx.x >= 256) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 256)
            for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)
                for (unsigned round = 0; round < rounds; ++round)
                    bring<S>(maps, ring, pair, KParts::of<S>(p, pair, round),
                             tile_coord<S::ROWS, S::COLUMNS>(p, number));
        return;
    }
    setmaxnreg_inc<232>();
    const unsigned group = threadIdx.x / 32 / S::WARPS, warp = threadIdx.x / 32 % S::WARPS;
    const unsigned warps_n = S::COLUMNS / S::WARP_COLUMNS;
    const typename S::Of lane(warp / warps_n * S::WARP_ROWS, warp % warps_n * S::WARP_COLUMNS);
    uint32_t before = 0;
    // Sums of the parts before stay in registers where there are enough, and else in C.
    constexpr unsigned COUNT = sizeof(typename S::Sums) / sizeof(double);
    constexpr bool KEEPS = COUNT <= 32;
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
        double kept[KEEPS ? COUNT : 1];
#pragma unroll 1
        for (unsigned round = 0; round < rounds; ++round) {
            typename S::Sums sums = {};
            double *own = reinterpret_cast<double *>(&sums);
            multiply<S>(KParts::of<S>(p, pair, round).count(0), ring, lane, group, before, sums);
            const TileCoord place = tile_coord<S::ROWS, S::COLUMNS>(p, number);
            if (S::GROUPS > 1 && p.slices > 1) { // each part has a C of its own
                const uint64_t matrices = p.pairs / p.slices, slice = pair.number / matrices;
                store<S>(p, lane, (slice * (S::GROUPS - 1) + group) * matrices + pair.number, place, sums);
                continue;
            }
            if (!KEEPS && group == 0 && round > 0)
                add_to_c<S>(p, lane, pair.number, place, sums);
#pragma unroll
            for (unsigned i = 0; KEEPS && i < COUNT; ++i)
                own[i] = round > 0 && group == 0 ? kept[KEEPS ? i : 0] + own[i] : own[i];
            if (S::GROUPS > 1)
                add_up<S>(reinterpret_cast<double *>(bytes + S::Stages::END), group, sums);
#pragma unroll
            for (unsigned i = 0; KEEPS && i < COUNT; ++i)
                kept[KEEPS ? i : 0] = own[i];
            if (group == 0 && (!KEEPS || round + 1 == rounds))
                store<S>(p, lane, pair.number, place, sums);
        }
    }
}

constexpr RungRow row_t5_16 = {row_t5.rows, row_t5.columns / 2, row_t5.threads, row_t5.shared,
                               1,           row_t5.a_box,       row_t5.b_box};

#define GR_MATMUL(name, row, ...)                                                                            \
    static_assert(is_planned(row, Shape<__VA_ARGS__>::ROWS, Shape<__VA_ARGS__>::COLUMNS, TILE_K,             \
                             Shape<__VA_ARGS__>::SHARED));                                                   \
    GR_ENTRY((MATMUL_THREADS, 1), name, __grid_constant__ gr_matmul_tma_params, matmul<Shape<__VA_ARGS__>>)

GR_MATMUL(t5_f64, row_t5, OfDouble, 128, 128, 64, 32, 6)
GR_MATMUL(t5_mid_f64, row_t5_mid_8, OfDouble, 128, 64, 32, 32, 8)
GR_MATMUL(t5_low_f64, row_t5_low_8, OfDouble, 64, 32, 16, 32, 8)
GR_MATMUL(t5_least_f64, row_t5_least_8, OfDouble, 32, 16, 16, 16, 6)
GR_MATMUL(t5_c128, row_t5_16, OfComplex, 128, 64, 32, 32, 4)
GR_MATMUL(t5_low_c128, row_t5_low_16, OfComplex, 64, 32, 32, 16, 4)
GR_MATMUL(t5_least_c128, row_t5_least_16, OfComplex, 32, 16, 16, 16, 3)
GR_ENTRY((GR_MATMUL_THREADS), t5_sum_f64, __grid_constant__ gr_matmul_add_slices_params, add_slices<double>)
