// Products with few tiles and a long k, whose steps along k take most of the time: a step has 512 bytes of k
// of 32 rows and 16 columns. Warps have roles: eight copy steps to a ring in shared memory and shift lines
// that do not begin on boundaries of 16 bytes, and four multiply the step before. Operands of any strides and
// alignment are read as they are. The products of a part of k, which blocks share, are added in the order of
// k: one part of float16 or bfloat16 has the bits of t3, and float64 has those of t5.
#include "common/entry.cuh"
#include "common/mma.cuh"
#include "common/pdl.cuh"
#include "matmul/last_part.cuh"
#include "matmul/matmul.cuh"
#include "matmul/ring_panel.cuh"
#include "matmul/short/params.h"

using namespace gr::common;
using namespace gr::matmul;

enum {
    ROWS = GR_MATMUL_SMALL_ROWS,
    COLUMNS = GR_MATMUL_DEEP_COLUMNS,
    STAGES = GR_MATMUL_DEEP_STAGES,
    LOADERS = 256,     // threads that copy
    MULTIPLIERS = 128, // threads that multiply: two warps along a column of C and two along a row
    OWN = 4            // results per thread that multiplies
};

// Sums of 16 rows and 8 columns. A lane's first elements of a panel are `place_a` and `place_b` elements from
// the panel's beginning.
template <class T> struct WarpTile { // float16 and bfloat16
    typedef float Sum;
    static constexpr int STEP = 32; // elements along k per call of multiply
    Sum sums[OWN] = {};

    static __device__ unsigned place_a(const PanelStrides &by, unsigned row) {
        const unsigned lane = threadIdx.x % 32;
        return by.along_k ? (row + lane % 16) * by.other + lane / 16 * 8
                          : (lane / 16 * 8 + lane % 8) * by.k + row + lane / 8 % 2 * 8;
    }
    static __device__ unsigned place_b(const PanelStrides &by, unsigned column) {
        const unsigned lane = threadIdx.x % 32;
        return by.along_k ? (column + lane % 8) * by.other + lane / 8 * 8 : lane * by.k + column;
    }
    static __device__ void load(const T *at, bool along_k, uint32_t (&to)[4]) {
        if (along_k)
            ptx::ldmatrix_x4(shared_address(at), to);
        else
            ptx::ldmatrix_x4_trans(shared_address(at), to);
    }
    __device__ void multiply(const T *a, const PanelStrides &by_a, const T *b, const PanelStrides &by_b) {
        uint32_t of_a[2][4], of_b[4];
        load(b, by_b.along_k, of_b);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            load(a + 16 * i * by_a.k, by_a.along_k, of_a[i]);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            ptx::mma_m16n8(T(), of_a[i], of_b[2 * i], of_b[2 * i + 1], sums);
    }
};

template <> struct WarpTile<double> {
    typedef double Sum;
    static constexpr int STEP = 16;
    Sum sums[OWN] = {};

    static __device__ unsigned place_a(const PanelStrides &by, unsigned row) {
        const unsigned lane = threadIdx.x % 32;
        return (row + lane / 4) * by.other + lane % 4 * by.k;
    }
    static __device__ unsigned place_b(const PanelStrides &by, unsigned column) {
        return place_a(by, column);
    }
    __device__ void multiply(const double *a, const PanelStrides &by_a, const double *b,
                             const PanelStrides &by_b) {
        double of_a[8], of_b[4];
#pragma unroll
        for (int i = 0; i < 8; ++i)
            of_a[i] = a[i % 2 * 8 * by_a.other + i / 2 * 4 * by_a.k];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            of_b[i] = b[i * 4 * by_b.k];
        ptx::mma_m16n8k16(of_a, of_b, sums);
    }
};

// The parts of k: the first ones have a unit of GR_MATMUL_SMALL_UNIT elements more. The last unit may be a
// short one.
struct Parts {
    enum { UNIT = GR_MATMUL_SMALL_UNIT };
    uint64_t k, each;
    unsigned more;

    __device__ Parts(uint64_t k, unsigned parts) : k(k) {
        const uint64_t units = (k + UNIT - 1) / UNIT;
        each = units / parts;
        more = unsigned(units - each * parts);
    }
    __device__ uint64_t longest() const {
        return (each + (more > 0 ? 1 : 0)) * UNIT;
    }
    __device__ uint64_t begin(unsigned part) const {
        return min((each * part + min(part, more)) * UNIT, k);
    }
};

// A step along k of DEPTH elements: all parts have as many steps, of which the last ones may be empty.
template <int DEPTH> struct Step {
    uint64_t left;         // elements from here to the end of the part
    unsigned part, number; // of the step in its part

    __device__ Step(const Parts &parts, unsigned part)
        : left(parts.begin(part + 1) - parts.begin(part)), part(part), number(0) {
    }
    __device__ unsigned deep() const {
        return unsigned(min(left, uint64_t(DEPTH)));
    }
    // Returns how many elements along k the next step is ahead.
    __device__ int64_t next(const Parts &parts, unsigned steps) {
        left = left > DEPTH ? left - DEPTH : 0;
        if (++number < steps)
            return DEPTH;
        const int64_t ahead =
            int64_t(parts.begin(part + 1) - parts.begin(part)) - int64_t(number - 1) * DEPTH;
        *this = Step(parts, part + 1);
        return ahead;
    }
    __device__ uint64_t begin(const Parts &parts) const {
        return parts.begin(part) + uint64_t(number) * DEPTH;
    }
};

template <class T> __device__ void multiply_deep(const gr_matmul_small_params &p) {
    typedef WarpTile<T> Warp;
    typedef typename Warp::Sum Sum;
    constexpr int DEPTH = GR_MATMUL_DEEP_BYTES / sizeof(T);
    typedef RingPanel<T, ROWS, DEPTH, LOADERS> A;
    typedef RingPanel<T, COLUMNS, DEPTH, LOADERS> B;
    constexpr unsigned SLOT = A::ROOM + B::ROOM; // elements of a step
    static_assert(SLOT * sizeof(T) <= GR_MATMUL_DEEP_SLOT, "as the host allocates");
    constexpr unsigned AT_ONCE = 8; // parts that are loaded at once to add them up
    extern __shared__ __align__(16) unsigned char bytes[];
    T *const arranged = reinterpret_cast<T *>(bytes), *const ring = arranged + 2 * SLOT;
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const BlockParts own(product);
    const unsigned n_tiles = unsigned(product.n_tiles), m_tiles = own.tiles / n_tiles;
    /* Blocks next to each other share the operand of which there is more. */
    const bool down = m_tiles < n_tiles;
    const uint64_t first_row = uint64_t(down ? own.tile % m_tiles : own.tile / n_tiles) * ROWS,
                   first_column = uint64_t(down ? own.tile / m_tiles : own.tile % n_tiles) * COLUMNS;
    const unsigned rows = unsigned(min(of.m - first_row, uint64_t(ROWS)));
    const unsigned columns = unsigned(min(of.n - first_column, uint64_t(COLUMNS)));
    const RingLines<T> lines_a(of.a, of.m, of.k, of.a_row, of.a_column),
        lines_b(of.b, of.n, of.k, of.b_column, of.b_row);
    const Parts parts(of.k, own.parts);
    const unsigned each = unsigned((parts.longest() + DEPTH - 1) / DEPTH);
    const int steps = int(own.count * each);
    const bool loads = threadIdx.x >= MULTIPLIERS;
    Sum *const all = reinterpret_cast<Sum *>(p.sums) +
                     (pair * own.tiles + own.tile) * own.parts * (ROWS * COLUMNS) + threadIdx.x;
    Sum totals[OWN] = {};
    const unsigned warp = threadIdx.x / 32, row = warp % 2 * 16, column = warp / 2 * 8; // that multiplies
    pdl_launch_dependents();
    pdl_wait();
    A panel_a(lines_a, first_row, parts.begin(own.first), rows);
    B panel_b(lines_b, first_column, parts.begin(own.first), columns);
    const PanelStrides by_a = A::strides_of(lines_a.along_k), by_b = B::strides_of(lines_b.along_k);
    const unsigned of_a = Warp::place_a(by_a, row), of_b = A::ROOM + Warp::place_b(by_b, column);
    Step<DEPTH> ahead(parts, own.first); // the step that is loaded next
    Step<DEPTH> now(parts, own.first);   // the step that is arranged or multiplied
    int loaded = 0;
    const auto load = [&] {
        if (loaded < steps) {
            T *const slot = ring + unsigned(loaded) % STAGES * SLOT;
            const unsigned deep = ahead.deep();
            if (deep > 0) {
                panel_a.load(slot, deep);
                panel_b.load(slot + A::ROOM, deep);
            }
            const int64_t count = ahead.next(parts, each);
            panel_a.advance(count);
            panel_b.advance(count);
            ++loaded;
        }
        ptx::cp_async_commit_group();
    };
    Warp sums;
    if (loads)
#pragma unroll 1
        for (int i = 0; i < STAGES - 1; ++i)
            load();
    for (int step = -1; step < steps; ++step) {
        if (loads)
            ptx::cp_async_wait_group<STAGES - 3>();
        __syncthreads(); // the next step is copied, this one arranged, and the slot before is free
        if (loads) {
            if (step >= 0)
                load();
            if (step + 1 == steps)
                break;
            const T *const raw = ring + unsigned(step + 1) % STAGES * SLOT;
            T *const to = arranged + unsigned(step + 1) % 2 * SLOT;
            if (now.deep() > 0) {
                if (!lines_a.aligned)
                    panel_a.arrange(raw, to, now.begin(parts), now.deep());
                if (!lines_b.aligned)
                    panel_b.arrange(raw + A::ROOM, to + A::ROOM, now.begin(parts), now.deep());
            }
        } else {
            if (step < 0)
                continue;
            const T *const raw = ring + unsigned(step) % STAGES * SLOT;
            const T *const ready = arranged + unsigned(step) % 2 * SLOT;
            const T *const a = (lines_a.aligned ? raw : ready) + of_a;
            const T *const b = (lines_b.aligned ? raw : ready) + of_b;
            const unsigned deep = now.deep();
#pragma unroll
            for (int i = 0; i < DEPTH; i += Warp::STEP)
                if (i < deep)
                    sums.multiply(a + i * by_a.k, by_a, b + i * by_b.k, by_b);
            if (now.number + 1 == each) {
#pragma unroll
                for (int i = 0; i < OWN; ++i) {
                    if (own.blocks > 1)
                        all[(uint64_t(now.part) * OWN + i) * MULTIPLIERS] = sums.sums[i];
                    totals[i] = now.part == own.first ? sums.sums[i] : totals[i] + sums.sums[i];
                    sums.sums[i] = 0;
                }
            }
        }
        now.next(parts, each);
    }
    if (own.blocks > 1) {
        if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + pair * own.tiles + own.tile, own.blocks) ||
            loads)
            return;
#pragma unroll
        for (int i = 0; i < OWN; ++i)
            totals[i] = __ldcg(all + i * MULTIPLIERS);
        for (unsigned first = 1; first < own.parts; first += AT_ONCE) {
            Sum more[AT_ONCE][OWN];
#pragma unroll
            for (unsigned j = 0; j < AT_ONCE; ++j)
#pragma unroll
                for (int i = 0; i < OWN; ++i)
                    more[j][i] =
                        __ldcg(all + (uint64_t(min(first + j, own.parts - 1)) * OWN + i) * MULTIPLIERS);
#pragma unroll
            for (unsigned j = 0; j < AT_ONCE; ++j)
#pragma unroll
                for (int i = 0; i < OWN; ++i)
                    totals[i] = first + j < own.parts ? totals[i] + more[j][i] : totals[i];
        }
    }
    if (loads)
        return;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const unsigned y = row + lane / 4 + i / 2 * 8, x = column + lane % 4 * 2 + i % 2;
        if (y < rows && x < columns)
            of.c[(first_row + y) * of.n + first_column + x] = T(totals[i] + Sum(0));
    }
}

#define GR_DEEP(suffix, T)                                                                                   \
    GR_ENTRY((LOADERS + MULTIPLIERS, 1), matmul_deep_##suffix, __grid_constant__ gr_matmul_small_params,     \
             multiply_deep<T>)
GR_DEEP(f16, gr_f16)
GR_DEEP(bf16, gr_bf16)
GR_DEEP(f64, double)
