// Products with few columns, few rows or few steps along k: those for which whole tiles of
// the ladder's rungs have too little to do. Operands of any strides and alignment are read as they are. The
// warps of a block share a tile of 32 rows: groups of them take steps along k in turn, and their sums are
// added in a fixed order. Blocks share a long k by parts: the block that ends last adds up the parts, in
// their order. So the bits of a row do not depend on the other rows. float64 has one group, and so the bits
// of t5.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "matmul/last_part.cuh"
#include "matmul/matmul.cuh"
#include "matmul/panel.cuh"
#include "matmul/panel_fragments.cuh"

using namespace gr::common;
using namespace gr::matmul;

enum { THREADS = GR_MATMUL_THREADS, WARPS = THREADS / 32, ROWS = GR_MATMUL_SMALL_ROWS, STAGES = 2 };
enum { AT_ONCE = 4 }; // parts that are loaded at once to add them up

template <class Sums_, int COLUMNS> struct Small {
    typedef Sums_ Sums;
    typedef typename Sums::T T;
    typedef typename Sums::Sum Sum;
    static constexpr int WIDTH = COLUMNS;
    static constexpr int ACROSS = COLUMNS / Sums::COLUMNS, OF_GROUP = ACROSS * ROWS / Sums::ROWS;
    static constexpr int GROUPS = WARPS / OF_GROUP;
    // Elements along k of a group's share of a step, and of a step.
    static constexpr int SHARE = GROUPS == 1 ? (sizeof(T) == 2 ? 64 : 32) : Sums::STEP,
                         DEPTH = GROUPS * SHARE;
    typedef Panel<T, ROWS, DEPTH, THREADS> A;
    typedef Panel<T, COLUMNS, DEPTH, THREADS> B;
    struct Tiles {
        alignas(16) T a[A::ROOM];
        alignas(16) T b[B::ROOM];
    };
    static constexpr int HALF = GROUPS > 1 ? GROUPS / 2 : 1, PITCH = COLUMNS + 8, SUMS = ROWS * PITCH;
    union Room {
        Tiles tiles[STAGES];
        Sum sums[HALF][SUMS];
        __device__ Room() {
        }
    };
    unsigned group, row, column; // of a warp

    __device__ Small() {
        const unsigned warp = threadIdx.x / 32, number = warp % OF_GROUP;
        group = warp / OF_GROUP;
        row = number / ACROSS * Sums::ROWS;
        column = number % ACROSS * Sums::COLUMNS;
    }
    __device__ void multiply(const Tiles &tiles, bool a_along_k, bool b_along_k, Sums &sums) const {
        const Tile<T> a = {tiles.a, unsigned(a_along_k ? A::K_PITCH : A::PITCH), a_along_k};
        const Tile<T> b = {tiles.b, unsigned(b_along_k ? B::K_PITCH : B::PITCH), b_along_k};
#pragma unroll
        for (int i = 0; i < SHARE; i += Sums::STEP)
            sums.multiply(a, b, row, column, group * SHARE + i);
    }
    // The sums of the groups, added in pairs: those of the first and of the middle one, and so on. Leaves
    // half as many.
    __device__ void join_groups(Sums &sums, Sum (&slots)[HALF][SUMS]) const {
        Sum *own = slots[group % HALF] + row * PITCH + column;
        __syncthreads();
        if (GROUPS > 1 && group >= HALF)
            sums.each([&](Sum x, unsigned y, unsigned at) { own[y * PITCH + at] = x; });
        __syncthreads();
        if (group < HALF)
            sums.each([&](Sum x, unsigned y, unsigned at) {
                own[y * PITCH + at] = GROUPS > 1 ? x + own[y * PITCH + at] : x;
            });
        __syncthreads();
    }
    static __device__ Sum sum_of(const Sum (&slots)[HALF][SUMS], unsigned at) {
        if (HALF == 1)
            return slots[0][at];
        const Sum first = slots[0][at] + slots[1 % HALF][at];
        return HALF == 2 ? first : first + (slots[2 % HALF][at] + slots[3 % HALF][at]);
    }
};

// The part of k of a block: the first ones have a unit of GR_MATMUL_SMALL_UNIT elements more. The last unit
// may be a short one.
struct Part {
    uint64_t begin, end;

    __device__ Part(uint64_t k, unsigned number, unsigned parts) {
        enum { UNIT = GR_MATMUL_SMALL_UNIT };
        begin = 0;
        end = k;
        if (parts == 1)
            return;
        const uint64_t units = (k + UNIT - 1) / UNIT, each = units / parts, more = units - each * parts;
        const uint64_t before = (each * number + min(uint64_t(number), more)) * UNIT,
                       until = before + (each + (number < more ? 1 : 0)) * UNIT;
        begin = before;
        end = min(until, k);
    }
};

template <class S> __device__ void multiply_small(const gr_matmul_small_params &p) {
    typedef typename S::Sums Sums;
    typedef typename S::T T;
    typedef typename S::Sum Sum;
    constexpr unsigned COLUMNS = S::WIDTH;
    __shared__ alignas(16) typename S::Room room;
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned parts = unsigned(product.slices), number = blockIdx.x % parts, tile = blockIdx.x / parts;
    const unsigned n_tiles = unsigned(product.n_tiles);
    const uint64_t first_row = uint64_t(tile / n_tiles) * ROWS,
                   first_column = uint64_t(tile % n_tiles) * COLUMNS;
    const unsigned rows = unsigned(min(of.m - first_row, uint64_t(ROWS)));
    const unsigned columns = unsigned(min(of.n - first_column, uint64_t(COLUMNS)));
    const Part part(of.k, number, parts);
    const Lines<T> lines_a(of.a, of.m, of.k, of.a_row, of.a_column, part.begin),
        lines_b(of.b, of.n, of.k, of.b_column, of.b_row, part.begin);

    typename S::A next_a(lines_a, first_row, part.begin, rows);
    typename S::B next_b(lines_b, first_column, part.begin, columns);
    const auto load = [&](uint64_t k) {
        const unsigned deep = unsigned(min(part.end - k, uint64_t(S::DEPTH)));
        next_a.load(deep);
        next_b.load(deep);
    };
    const S warp;
    pdl_launch_dependents();
    pdl_wait();
    Sums sums;
    load(part.begin);
    unsigned now = 0;
    for (uint64_t k = part.begin; k < part.end; k += S::DEPTH, now = (now + 1) % STAGES) {
        next_a.store(room.tiles[now].a);
        next_b.store(room.tiles[now].b);
        __syncthreads(); // the other tiles are free after that, too
        if (k + S::DEPTH < part.end)
            load(k + S::DEPTH);
        warp.multiply(room.tiles[now], lines_a.along_k, lines_b.along_k, sums);
    }
    if (S::GROUPS == 1 && parts == 1) {
        sums.each([&](Sum sum, unsigned y, unsigned x) {
            const unsigned row = warp.row + y, column = warp.column + x;
            if (row < rows && column < columns)
                of.c[(first_row + row) * of.n + first_column + column] = T(sum);
        });
        return;
    }
    warp.join_groups(sums, room.sums);

    constexpr int RESULTS = ROWS * COLUMNS, OWN = RESULTS / THREADS;
    // Calls work(number, place in the tile, row, column) for the results of a thread.
    const auto each = [&](auto work) {
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            const unsigned at = i * THREADS + threadIdx.x, row = at / COLUMNS, column = at % COLUMNS;
            if (row < rows && column < columns)
                work(i, at, row, column);
        }
    };
    const auto store = [&](unsigned row, unsigned column, Sum sum) {
        of.c[(first_row + row) * of.n + first_column + column] = T(sum);
    };
    const auto sum_of = [&](unsigned row, unsigned column) {
        return S::sum_of(room.sums, row * S::PITCH + column);
    };
    if (parts == 1) {
        each([&](int, unsigned, unsigned row, unsigned column) { store(row, column, sum_of(row, column)); });
        return;
    }
    const uint64_t tiles_of_pair = gridDim.x / parts, place = pair * tiles_of_pair + tile;
    Sum *all = reinterpret_cast<Sum *>(p.sums) + place * parts * RESULTS;
    each([&](int, unsigned at, unsigned row, unsigned column) {
        all[number * RESULTS + at] = sum_of(row, column);
    });
    if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + place, parts))
        return;
    Sum totals[OWN];
    each([&](int i, unsigned at, unsigned, unsigned) { totals[i] = __ldcg(all + at); });
    for (unsigned first = 1; first < parts; first += AT_ONCE) {
        Sum more[AT_ONCE][OWN];
#pragma unroll
        for (int j = 0; j < AT_ONCE; ++j)
            each([&](int i, unsigned at, unsigned, unsigned) {
                more[j][i] = __ldcg(all + min(first + j, parts - 1) * RESULTS + at);
            });
#pragma unroll
        for (int j = 0; j < AT_ONCE; ++j)
            if (first + j < parts)
                each([&](int i, unsigned, unsigned, unsigned) { totals[i] += more[j][i]; });
    }
    each([&](int i, unsigned, unsigned row, unsigned column) { store(row, column, totals[i]); });
}

#define GR_SMALL(columns, suffix, ...)                                                                       \
    typedef Small<__VA_ARGS__, columns> Of_##columns##_##suffix;                                             \
    GR_ENTRY((THREADS, 2), matmul_small_##columns##_##suffix, __grid_constant__ gr_matmul_small_params,      \
             multiply_small<Of_##columns##_##suffix>)
GR_SMALL(32, f16, WarpSums<gr_f16>)
GR_SMALL(64, f16, WarpSums<gr_f16>)
GR_SMALL(32, bf16, WarpSums<gr_bf16>)
GR_SMALL(64, bf16, WarpSums<gr_bf16>)
GR_SMALL(64, ordered_f16, WarpSums<gr_f16, 16, 16>)
GR_SMALL(64, ordered_bf16, WarpSums<gr_bf16, 16, 16>)
GR_SMALL(32, tf32, WarpSums<float>)
GR_SMALL(64, tf32, WarpSums<float>)
GR_SMALL(32, f64, WarpSums<double>)
