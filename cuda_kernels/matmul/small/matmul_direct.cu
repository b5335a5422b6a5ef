// Products with few rows or columns. Tiles pass through a ring in shared memory, where they lie as in memory:
// windows of 16 bytes that begin on boundaries of 16 bytes are copied asynchronously (cp.async), and a lane
// reads the elements of its fragments from there at any alignment, so that operands of any alignment need no
// copies and no step in between. The products of a part of k are added in the order of k, as in t1, t3 and
// t5. A block takes one part of k or several; the block that ends last adds up the parts, in their order.
#include "common/entry.cuh"
#include "common/mma.cuh"
#include "common/pdl.cuh"
#include "matmul/direct_tiles.cuh"
#include "matmul/k_parts.cuh"
#include "matmul/last_part.cuh"
#include "matmul/matmul.cuh"
#include "matmul/short/params.h"
#include "matmul/vec16_rows.cuh"

using namespace gr::common;
using namespace gr::matmul;

// A tile of WARPS_M by WARPS_N warps that multiply, each with 16 rows and 8 ACROSS columns; LOADERS other
// threads copy, to a ring of STAGES steps.
template <class T_, bool K_MAJOR_, int WARPS_M_, int WARPS_N_, int ACROSS_, int LOADERS_, int STAGES_>
struct Shape {
    typedef T_ T;
    static constexpr bool K_MAJOR = K_MAJOR_;
    static constexpr int WARPS_N = WARPS_N_, WARPS = WARPS_M_ * WARPS_N, ACROSS = ACROSS_, STAGES = STAGES_;
    static constexpr int ROWS = 16 * WARPS_M_, COLUMNS = 8 * ACROSS * WARPS_N;
    static constexpr int LOADERS = LOADERS_, THREADS = LOADERS + 32 * WARPS;
    typedef LinesAlongK<T, ROWS, LOADERS> A;
    typedef typename BTile<T, K_MAJOR, COLUMNS, LOADERS>::type B;
    static constexpr int OWN = 4 * ACROSS; // results of a thread
    static constexpr unsigned SLOT = A::BYTES + B::BYTES;
};

// The tile of a block, and the parts of k that it takes.
template <class S> struct Work {
    typedef typename S::T T;
    static constexpr int DEPTH = FragmentOf<T>::DEPTH;
    Matrices<T> of;
    BlockParts own;
    KParts<T> parts;
    uint64_t pair, first_row, first_column;
    unsigned rows, columns; // that are inside
    unsigned each;          // steps of a part
    int steps;              // of the block

    __device__ Work(const gr_matmul_params &p, uint64_t pair)
        : of(matrices_of<T>(p, pair)), own(p), parts(p.k, own.parts), pair(pair) {
        const unsigned n_tiles = unsigned(p.n_tiles), m_tiles = own.tiles / n_tiles;
        const bool down =
            m_tiles < n_tiles; // blocks next to each other share the operand of which there is more
        first_row = uint64_t(down ? own.tile % m_tiles : own.tile / n_tiles) * S::ROWS;
        first_column = uint64_t(down ? own.tile / m_tiles : own.tile % n_tiles) * S::COLUMNS;
        rows = unsigned(min(of.m - first_row, uint64_t(S::ROWS)));
        columns = unsigned(min(of.n - first_column, uint64_t(S::COLUMNS)));
        each = unsigned((parts.longest() + DEPTH - 1) / DEPTH);
        steps = int(own.count * each);
    }
};

// The ring: for each slot an mbarrier whose phases end when a step is copied, and one when it is multiplied.
template <class S> struct Ring {
    static constexpr unsigned STAGES = S::STAGES;
    unsigned char *const first;
    uint32_t barriers;
    unsigned slot = 0, parity = 0;

    __device__ Ring(unsigned char *first, uint64_t (&at)[2 * STAGES])
        : first(first), barriers(shared_address(at)) {
        if (threadIdx.x < STAGES) {
            ptx::mbarrier_init(copied(threadIdx.x), S::LOADERS / 32);
            ptx::mbarrier_init(multiplied(threadIdx.x), S::WARPS);
        }
        __syncthreads();
    }
    __device__ uint32_t copied(unsigned slot) const {
        return barriers + 16 * slot;
    }
    __device__ uint32_t multiplied(unsigned slot) const {
        return barriers + 16 * slot + 8;
    }
    __device__ unsigned char *tiles() const {
        return first + slot * S::SLOT;
    }
    __device__ void next() {
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
    static __device__ void arrive(uint32_t barrier) {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            ptx::mbarrier_arrive(barrier);
    }
};

// The threads that copy: each copies the same windows of every step.
template <class S> __device__ void copy_steps(const Work<S> &work, Ring<S> ring) {
    typedef typename S::T T;
    constexpr int IN_FLIGHT = S::STAGES - 2; // a slot is multiplied, and one is ready
    const Matrices<T> &of = work.of;
    const typename S::A tile_a(of.a, of.a_row, of.m, of.k, work.first_row, work.rows);
    const typename S::B tile_b(of.b, S::K_MAJOR ? of.b_column : of.b_row, of.n, of.k, work.first_column,
                               work.columns);
    KStep<T, Work<S>::DEPTH> ahead(work.parts, work.own.first);
    unsigned arrived = 0; // the slot of the step that is copied next
#pragma unroll 1
    for (int step = 0; step < work.steps + IN_FLIGHT; ++step) {
        if (step < work.steps) {
            ptx::mbarrier_wait_parity(ring.multiplied(ring.slot), ring.parity ^ 1);
            const unsigned deep = ahead.deep();
            const uint64_t k =
                deep > 0 ? ahead.begin(work.parts) : 0; // an empty step may be off the boundaries
            tile_a.load(ring.tiles(), k, deep);
            tile_b.load(ring.tiles() + S::A::BYTES, k, deep);
            ahead.next(work.parts, work.each);
            ring.next();
        }
        ptx::cp_async_commit_group();
        if (step < IN_FLIGHT)
            continue;
        ptx::cp_async_wait_group<IN_FLIGHT>();
        ring.arrive(ring.copied(arrived));
        arrived = arrived + 1 == S::STAGES ? 0 : arrived + 1;
    }
}

// A warp that multiplies.
template <class S> struct Multiplier {
    typedef FragmentOf<typename S::T> Fragment;
    typedef typename Fragment::Sum Sum;
    unsigned row, column; // of the warp in the tile
    typename S::A::Reader of_a[2];
    typename S::B::Reader of_b[S::ACROSS];
    Sum sums[S::ACROSS][4] = {}, totals[S::OWN] = {};

    __device__ explicit Multiplier(const Work<S> &work) {
        const unsigned number = (threadIdx.x - S::LOADERS) / 32, lane = threadIdx.x % 32;
        row = number / S::WARPS_N * 16;
        column = number % S::WARPS_N * (8 * S::ACROSS);
        const Matrices<typename S::T> &of = work.of;
        const typename S::A::Place place_a(of.a, of.a_row, work.first_row, work.rows);
        const typename S::B::Place place_b(of.b, S::K_MAJOR ? of.b_column : of.b_row, work.first_column,
                                           work.columns);
#pragma unroll
        for (int r = 0; r < 2; ++r)
            of_a[r] = typename S::A::Reader(place_a, row + lane / 4 + 8 * r, lane % 4);
#pragma unroll
        for (int s = 0; s < S::ACROSS; ++s)
            of_b[s] = typename S::B::Reader(place_b, column + 8 * s + lane / 4, lane % 4);
    }
    __device__ void multiply_at(const unsigned char *tiles, int k) {
        Fragment a[2], b[S::ACROSS];
        a[0] = of_a[0].load(tiles, k);
        a[1] = of_a[1].load(tiles, k);
#pragma unroll
        for (int s = 0; s < S::ACROSS; ++s)
            b[s] = of_b[s].load(tiles + S::A::BYTES, k);
#pragma unroll
        for (int s = 0; s < S::ACROSS; ++s)
            multiply(a, b[s], sums[s]);
    }
    // Multiplies all steps. If blocks share a tile, the sums of each part go to `all`.
    __device__ void run(const Work<S> &work, Ring<S> ring, Sum *all) {
        KStep<typename S::T, Fragment::DEPTH> now(work.parts, work.own.first);
#pragma unroll 1
        for (int step = 0; step < work.steps; ++step) {
            ptx::mbarrier_wait_parity(ring.copied(ring.slot), ring.parity);
            const int deep = int(now.deep());
            if (deep == Fragment::DEPTH)
#pragma unroll
                for (int k = 0; k < Fragment::DEPTH; k += Fragment::STEP)
                    multiply_at(ring.tiles(), k);
            else
#pragma unroll 1
                for (int k = 0; k < deep; k += Fragment::GROUP)
#pragma unroll
                    for (int i = 0; i < Fragment::GROUP; i += Fragment::STEP)
                        multiply_at(ring.tiles(), k + i);
            ring.arrive(ring.multiplied(ring.slot));
            ring.next();
            const unsigned part = now.part;
            now.next(work.parts, work.each);
            if (now.number > 0)
                continue;
#pragma unroll
            for (int i = 0; i < S::OWN; ++i) {
                Sum &sum = sums[i / 4][i % 4];
                if (work.own.blocks > 1)
                    all[(uint64_t(part) * S::OWN + i) * (32 * S::WARPS)] = sum;
                totals[i] = part == work.own.first ? sum : totals[i] + sum;
                sum = 0;
            }
        }
    }
};

// Adds up the sums of all parts, in their order.
template <int OWN, int APART, class Sum>
__device__ void add_parts(const Sum *all, unsigned parts, Sum (&totals)[OWN]) {
    constexpr unsigned AT_ONCE = 32 / OWN;
#pragma unroll
    for (int i = 0; i < OWN; ++i)
        totals[i] = __ldcg(all + i * APART);
#pragma unroll 1
    for (unsigned first = 1; first < parts; first += AT_ONCE) {
        Sum more[AT_ONCE][OWN];
#pragma unroll
        for (unsigned j = 0; j < AT_ONCE; ++j)
#pragma unroll
            for (int i = 0; i < OWN; ++i)
                more[j][i] = __ldcg(all + (uint64_t(min(first + j, parts - 1)) * OWN + i) * APART);
#pragma unroll
        for (unsigned j = 0; j < AT_ONCE; ++j)
#pragma unroll
            for (int i = 0; i < OWN; ++i)
                totals[i] = first + j < parts ? totals[i] + more[j][i] : totals[i];
    }
}

template <class S> __device__ void multiply_direct(const gr_matmul_small_params &p) {
    typedef typename S::T T;
    typedef typename FragmentOf<T>::Sum Sum;
    constexpr int MULTIPLIERS = 32 * S::WARPS;
    extern __shared__ __align__(16) unsigned char ring[];
    const uint64_t pair = matrix_of_block();
    if (pair >= p.product.pairs)
        return;
    const Work<S> work(p.product, pair);
    const bool loads = threadIdx.x < S::LOADERS;
    const uint64_t place = pair * work.own.tiles + work.own.tile;
    Sum *const all = reinterpret_cast<Sum *>(p.sums) + place * work.own.parts * (S::ROWS * S::COLUMNS) +
                     (threadIdx.x - S::LOADERS);
    __shared__ uint64_t barriers[2 * S::STAGES];
    const Ring<S> slots(ring, barriers);
    Multiplier<S> multiplier(work);
    pdl_launch_dependents();
    pdl_wait();
    if (loads)
        copy_steps<S>(work, slots);
    else
        multiplier.run(work, slots, all);
    const unsigned row = multiplier.row, column = multiplier.column, lane = threadIdx.x % 32;
    Sum(&totals)[S::OWN] = multiplier.totals;
    if (work.own.blocks > 1) {
        if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + place, work.own.blocks))
            return;
        if (!loads)
            add_parts<S::OWN, MULTIPLIERS>(all, work.own.parts, totals);
    }
    const uint64_t n = work.of.n;
    T *const c = work.of.c + work.first_row * n + work.first_column;
    const auto each_own = [&](auto work) {
#pragma unroll
        for (int i = 0; i < S::OWN; ++i)
            work(row + lane / 4 + i % 4 / 2 * 8, column + i / 4 * 8 + lane % 4 * 2 + i % 2,
                 T(totals[i] + Sum(0)));
    };
    if (S::ROWS * S::COLUMNS < 1024) {
        if (!loads)
            each_own([&](unsigned y, unsigned x, T result) {
                if (y < work.rows && x < work.columns)
                    c[y * n + x] = result;
            });
        return;
    }
    // Neighbours store neighbours: by way of shared memory.
    constexpr unsigned LENGTH = Vec16<T>::LENGTH, PITCH = S::COLUMNS + LENGTH;
    T *const staged = reinterpret_cast<T *>(ring);
    __syncthreads(); // the last step was read
    if (!loads)
        each_own([&](unsigned y, unsigned x, T result) { staged[y * PITCH + x] = result; });
    __syncthreads();
    if (rows_aligned(work.of.c, int64_t(n))) {
        constexpr unsigned VECTORS = S::COLUMNS / LENGTH;
        for (unsigned i = threadIdx.x; i < work.rows * VECTORS; i += S::THREADS)
            if (i % VECTORS * LENGTH < work.columns)
                *reinterpret_cast<Vec16<T> *>(c + i / VECTORS * n + i % VECTORS * LENGTH) =
                    *reinterpret_cast<const Vec16<T> *>(staged + i / VECTORS * PITCH + i % VECTORS * LENGTH);
        return;
    }
    for (unsigned i = threadIdx.x; i < work.rows * S::COLUMNS; i += S::THREADS)
        if (i % S::COLUMNS < work.columns)
            c[i / S::COLUMNS * n + i % S::COLUMNS] = staged[i / S::COLUMNS * PITCH + i % S::COLUMNS];
}

#define GR_DIRECT_SHAPE(suffix, T, k_major, layout, name, warps_m, warps_n, across, loaders, stages)         \
    typedef Shape<T, k_major, warps_m, warps_n, across, loaders, stages> Of_##suffix##_##name##layout;       \
    GR_ENTRY((Of_##suffix##_##name##layout::THREADS, across == 4 ? 1 : 2),                                   \
             matmul_direct_##name##layout##_##suffix, __grid_constant__ gr_matmul_small_params,              \
             multiply_direct<Of_##suffix##_##name##layout>)
#define GR_DIRECT(suffix, T, k_major, layout, s1, s2, s3, s4)                                                \
    GR_DIRECT_SHAPE(suffix, T, k_major, layout, 16x8, 1, 1, 1, 224, s1)                                      \
    GR_DIRECT_SHAPE(suffix, T, k_major, layout, 32x16, 2, 2, 1, 128, s2)                                     \
    GR_DIRECT_SHAPE(suffix, T, k_major, layout, 32x32, 2, 2, 2, 128, s3)                                     \
    GR_DIRECT_SHAPE(suffix, T, k_major, layout, 64x64, 4, 2, 4, 256, s4)                                     \
    GR_DIRECT_SHAPE(suffix, T, k_major, layout, 16x32, 1, 4, 1, 128, s2)
#define GR_DIRECTS(suffix, T)                                                                                \
    GR_DIRECT(suffix, T, false, , GR_MATMUL_DIRECT_STAGES_1, GR_MATMUL_DIRECT_STAGES_2,                      \
              GR_MATMUL_DIRECT_STAGES_3, GR_MATMUL_DIRECT_STAGES_4)                                          \
    GR_DIRECT(suffix, T, true, _k_major, GR_MATMUL_DIRECT_STAGES_1, GR_MATMUL_DIRECT_STAGES_2,               \
              GR_MATMUL_DIRECT_STAGES_3, GR_MATMUL_DIRECT_STAGES_4)
GR_DIRECTS(f16, gr_f16)
GR_DIRECTS(bf16, gr_bf16)
GR_DIRECTS(tf32, float)
GR_DIRECTS(f64, double)
