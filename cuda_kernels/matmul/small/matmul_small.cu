// Products with few columns, few rows or few steps along k: those for which whole tiles of the ladder's rungs
// have too little to do. Operands of any strides and alignment are read as they are. The products of a part
// of k are added in the order of k, as in t3 and t5. A block takes one part of k, and the block that ends
// last adds up the parts, in their order; or it takes all parts, one after the other. So the bits of a row do
// not depend on the other rows.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "matmul/k_parts.cuh"
#include "matmul/last_part.cuh"
#include "matmul/matmul.cuh"
#include "matmul/panel.cuh"
#include "matmul/panel_fragments.cuh"

using namespace gr::common;
using namespace gr::matmul;

enum { THREADS = GR_MATMUL_THREADS, ROWS = GR_MATMUL_SMALL_ROWS, STAGES = 2 };
enum { AT_ONCE = 4 }; // parts that are loaded at once to add them up

template <class Sums_, int COLUMNS> struct Small {
    typedef Sums_ Sums;
    typedef typename Sums::T T;
    typedef typename Sums::Sum Sum;
    static constexpr int WIDTH = COLUMNS, ACROSS = COLUMNS / Sums::COLUMNS;
    static_assert(ACROSS * ROWS / Sums::ROWS == THREADS / 32, "a warp has one tile");
    static constexpr int DEPTH = sizeof(T) == 2 ? 64 : 32;      // elements along k of a step
    static constexpr bool TAKES_ALL = DEPTH == KParts<T>::UNIT; // a block can take all parts of k
    typedef Panel<T, ROWS, DEPTH, THREADS> A;
    typedef Panel<T, COLUMNS, DEPTH, THREADS> B;
    struct Tiles {
        alignas(16) T a[A::ROOM];
        alignas(16) T b[B::ROOM];
    };
    static __device__ void multiply(const Tiles &tiles, bool a_along_k, bool b_along_k, unsigned row,
                                    unsigned column, Sums &sums) {
        const Tile<T> a = {tiles.a, unsigned(a_along_k ? A::K_PITCH : A::PITCH), a_along_k};
        const Tile<T> b = {tiles.b, unsigned(b_along_k ? B::K_PITCH : B::PITCH), b_along_k};
#pragma unroll
        for (int i = 0; i < DEPTH; i += Sums::STEP)
            sums.multiply(a, b, row, column, i);
    }
};

template <class S> __device__ void multiply_small(const gr_matmul_small_params &p) {
    typedef typename S::Sums Sums;
    typedef typename S::T T;
    typedef typename S::Sum Sum;
    constexpr unsigned COLUMNS = S::WIDTH;
    constexpr int OWN = ROWS * COLUMNS / THREADS;
    __shared__ alignas(16) typename S::Tiles tiles[STAGES];
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned parts = unsigned(product.slices), sharing = product.rounds > 1 ? 1 : parts;
    const unsigned number = blockIdx.x % sharing, tile = blockIdx.x / sharing;
    const unsigned n_tiles = unsigned(product.n_tiles);
    const uint64_t first_row = uint64_t(tile / n_tiles) * ROWS,
                   first_column = uint64_t(tile % n_tiles) * COLUMNS;
    const unsigned rows = unsigned(min(of.m - first_row, uint64_t(ROWS)));
    const unsigned columns = unsigned(min(of.n - first_column, uint64_t(COLUMNS)));
    const KParts<T> ranges(of.k, parts);
    const uint64_t begin = ranges.begin(number), end = sharing == 1 ? of.k : ranges.begin(number + 1);
    const Lines<T> lines_a(of.a, of.m, of.k, of.a_row, of.a_column, begin),
        lines_b(of.b, of.n, of.k, of.b_column, of.b_row, begin);

    typename S::A next_a(lines_a, first_row, begin, rows);
    typename S::B next_b(lines_b, first_column, begin, columns);
    const auto load = [&](uint64_t k) {
        const unsigned deep = unsigned(min(end - k, uint64_t(S::DEPTH)));
        next_a.load(deep);
        next_b.load(deep);
    };
    const unsigned warp = threadIdx.x / 32, row = warp / S::ACROSS * Sums::ROWS,
                   column = warp % S::ACROSS * Sums::COLUMNS;
    pdl_launch_dependents();
    pdl_wait();
    Sums sums;
    Sum totals[OWN];
    unsigned part = 0;
    uint64_t next_part = sharing == 1 ? ranges.begin(1) : end;
    load(begin);
    unsigned now = 0;
    for (uint64_t k = begin; k < end; k += S::DEPTH, now = (now + 1) % STAGES) {
        if (S::TAKES_ALL && k == next_part) {
            int i = 0;
            sums.each([&](Sum &sum, unsigned, unsigned) {
                totals[i] = part == 0 ? sum : totals[i] + sum;
                sum = 0;
                ++i;
            });
            next_part = ranges.begin(++part + 1);
        }
        next_a.store(tiles[now].a);
        next_b.store(tiles[now].b);
        __syncthreads(); // the other tiles are free after that, too
        if (k + S::DEPTH < end)
            load(k + S::DEPTH);
        S::multiply(tiles[now], lines_a.along_k, lines_b.along_k, row, column, sums);
    }
    // Calls work(number, row, column, sum) for the results of a thread.
    const auto each = [&](auto work) {
        int i = 0;
        sums.each([&](Sum &sum, unsigned y, unsigned x) { work(i++, row + y, column + x, sum); });
    };
    if (S::TAKES_ALL && part > 0)
        each([&](int i, unsigned, unsigned, Sum &sum) { sum = totals[i] + sum; });
    if (sharing > 1) {
        const uint64_t tiles_of_pair = gridDim.x / sharing, place = pair * tiles_of_pair + tile;
        constexpr unsigned RESULTS = ROWS * COLUMNS;
        Sum *all = reinterpret_cast<Sum *>(p.sums) + place * parts * RESULTS + threadIdx.x;
        each([&](int i, unsigned, unsigned, Sum &sum) { all[number * RESULTS + i * THREADS] = sum; });
        if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + place, parts))
            return;
        each([&](int i, unsigned, unsigned, Sum &sum) { sum = __ldcg(all + i * THREADS); });
        for (unsigned first = 1; first < parts; first += AT_ONCE) {
            Sum more[AT_ONCE][OWN];
#pragma unroll
            for (unsigned j = 0; j < AT_ONCE; ++j)
#pragma unroll
                for (int i = 0; i < OWN; ++i)
                    more[j][i] = __ldcg(all + min(first + j, parts - 1) * RESULTS + i * THREADS);
#pragma unroll
            for (unsigned j = 0; j < AT_ONCE; ++j)
                if (first + j < parts)
                    each([&](int i, unsigned, unsigned, Sum &sum) { sum += more[j][i]; });
        }
    }
    each([&](int, unsigned y, unsigned x, Sum sum) {
        if (y < rows && x < columns)
            of.c[(first_row + y) * of.n + first_column + x] = T(sum);
    });
}

#define GR_SMALL(columns, suffix, ...)                                                                       \
    typedef Small<__VA_ARGS__, columns> Of_##columns##_##suffix;                                             \
    GR_ENTRY((THREADS, 2), matmul_small_##suffix, __grid_constant__ gr_matmul_small_params,                  \
             multiply_small<Of_##columns##_##suffix>)
GR_SMALL(64, f16, WarpSums<gr_f16>)
GR_SMALL(64, bf16, WarpSums<gr_bf16>)
GR_SMALL(32, f64, WarpSums<double>)
