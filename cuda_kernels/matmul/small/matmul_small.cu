// Products with few columns or few steps along k of float16 and bfloat16, on tensor cores: those for which
// whole tiles of the ladder's rungs have too little to do. Threads load elements at any strides and
// alignment, so that no operand is copied. The eight warps of a block share the steps along k of a tile of 32
// rows; their sums are added in a fixed order. Blocks share a long k by parts: the block that ends last adds
// up the parts, in their order. So the bits of a row do not depend on the other rows.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/tickets.cuh"
#include "matmul/mma.cuh"

using namespace gr::common;
using namespace gr::grid;
using namespace gr::matmul;

enum { THREADS = GR_MATMUL_THREADS, WARPS = THREADS / 32, ROWS = GR_MATMUL_SMALL_ROWS };

// How the threads of a block share the elements of a panel, so that neighbours read neighbours.
enum Order {
    BY_VECTORS, // rows are contiguous and begin at multiples of 16 bytes
    BY_ROWS,
    BY_COLUMNS,
};

// A panel of HEIGHT rows and WIDTH columns of a matrix, on its way through registers to shared memory.
template <class T, int HEIGHT, int WIDTH> struct Panel {
    static constexpr int LENGTH = 16 / sizeof(T), COUNT = HEIGHT * WIDTH / THREADS, VECTORS = COUNT / LENGTH;
    static_assert(COUNT % LENGTH == 0 && THREADS % WIDTH == 0 && THREADS % HEIGHT == 0, "equal shares");
    T x[COUNT];

    template <class Work> static __device__ void each_vector(Work work) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const unsigned unit = v * THREADS + threadIdx.x;
            work(v * LENGTH, unit / (WIDTH / LENGTH), unit % (WIDTH / LENGTH) * LENGTH);
        }
    }
    // Calls work(number, row, column) for four elements at a time, whose rows or columns ascend, as far as
    // there are any.
    template <Order ORDER, class Work> static __device__ void each_element(unsigned end, Work work) {
        constexpr int ACROSS = ORDER == BY_ROWS ? WIDTH : HEIGHT, APART = THREADS / ACROSS, TOGETHER = 4;
        const unsigned along = threadIdx.x % ACROSS, first = threadIdx.x / ACROSS;
#pragma unroll
        for (int i = 0; i < COUNT; i += TOGETHER)
            if (i * APART < end)
#pragma unroll
                for (int j = i; j < i + TOGETHER; ++j) {
                    const unsigned at = first + j * APART;
                    work(j, ORDER == BY_ROWS ? at : along, ORDER == BY_ROWS ? along : at);
                }
    }
    // The elements outside of the matrix are zeros. Loads are of the nearest ones inside: ptxas puts loads
    // with a condition where they wait for one another.
    template <Order ORDER>
    __device__ void load_elements(const T *from, int64_t row_stride, int64_t column_stride, unsigned rows,
                                  unsigned columns) {
        const unsigned end = ORDER == BY_ROWS ? rows : columns;
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            x[i] = T(0.f);
        each_element<ORDER>(end, [&](int i, unsigned row, unsigned column) {
            x[i] = from[int64_t(min(row, rows - 1)) * row_stride +
                        int64_t(min(column, columns - 1)) * column_stride];
        });
        each_element<ORDER>(end, [&](int i, unsigned row, unsigned column) {
            x[i] = row < rows && column < columns ? x[i] : T(0.f);
        });
    }
    __device__ void load(Order order, const T *from, int64_t row_stride, int64_t column_stride, unsigned rows,
                         unsigned columns) {
        if (order == BY_ROWS)
            return load_elements<BY_ROWS>(from, row_stride, column_stride, rows, columns);
        if (order == BY_COLUMNS)
            return load_elements<BY_COLUMNS>(from, row_stride, column_stride, rows, columns);
        each_vector([&](int i, unsigned row, unsigned column) {
            const T *at = from + int64_t(min(row, rows - 1)) * row_stride + column;
            if (column + LENGTH <= columns) {
                const Vec16<T> v = *reinterpret_cast<const Vec16<T> *>(at);
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    x[i + j] = row < rows ? v.element[j] : T(0.f);
            } else {
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    x[i + j] = row < rows && column + j < columns ? at[j] : T(0.f);
            }
        });
    }
    template <int PITCH> __device__ void store(Order order, T (&tile)[HEIGHT][PITCH]) const {
        const auto element = [&](int i, unsigned row, unsigned column) { tile[row][column] = x[i]; };
        if (order == BY_ROWS)
            return each_element<BY_ROWS>(HEIGHT, element);
        if (order == BY_COLUMNS)
            return each_element<BY_COLUMNS>(WIDTH, element);
        each_vector([&](int i, unsigned row, unsigned column) {
            *reinterpret_cast<Vec16<T> *>(&tile[row][column]) = vec16_of(x + i);
        });
    }
};

template <class T> __device__ Order order_of(const T *matrix, int64_t row, int64_t column) {
    if (column == 1 && rows_aligned(matrix, row))
        return BY_VECTORS;
    return llabs(row) < llabs(column) ? BY_COLUMNS : BY_ROWS;
}

template <class T, int COLUMNS> struct Small {
    static constexpr int STEP = 32 / sizeof(T), TILE_K = WARPS * STEP, LENGTH = 16 / sizeof(T);
    struct Tiles { // longer rows, so that neighbours lie in other banks
        T a[ROWS][TILE_K + LENGTH], b[TILE_K][COLUMNS + 8];
    };
    typedef float Sums[ROWS / 16][COLUMNS / 8][4];
    static constexpr int HALF = WARPS / 2, PITCH = COLUMNS + 8, SUMS = ROWS * PITCH, RESULTS = ROWS * COLUMNS;
    static constexpr int STAGES = COLUMNS == 32 ? 2 : 1; // within 48 KB
    static constexpr int TILES_BYTES = STAGES * sizeof(Tiles), SUMS_BYTES = HALF * SUMS * 4;
    static constexpr int ROOM = TILES_BYTES > SUMS_BYTES ? TILES_BYTES : SUMS_BYTES;

    static __device__ void multiply(const Tiles &tiles, unsigned k, Sums &sums) {
        uint32_t a[ROWS / 16][4], b[COLUMNS / 32][4][2];
#pragma unroll
        for (int s = 0; s < COLUMNS / 32; ++s)
            load_b(&tiles.b[k], 32 * s, b[s]);
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
            load_a(&tiles.a[16 * r], k, a[r]);
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
#pragma unroll
            for (int s = 0; s < COLUMNS / 8; ++s)
                ptx::mma_m16n8(T(), a[r], b[s / 4][s % 4][0], b[s / 4][s % 4][1], sums[r][s]);
    }
    // Calls work(sum, place in the tile) for the sums of a thread.
    template <class Work> static __device__ void each_sum(Sums &sums, Work work) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
#pragma unroll
            for (int s = 0; s < COLUMNS / 8; ++s)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    work(sums[r][s][i],
                         (16 * r + lane / 4 + i / 2 * 8) * PITCH + 8 * s + lane % 4 * 2 + i % 2);
    }
    // The sums of the warps, added in pairs: warps 0 and 4, 1 and 5 and so on first. Leaves those of four
    // warps in `slots`.
    static __device__ void join_warps(Sums &sums, float *slots) {
        const unsigned warp = threadIdx.x / 32;
        float *own = slots + warp % HALF * SUMS;
        __syncthreads();
        if (warp >= HALF)
            each_sum(sums, [&](float x, unsigned at) { own[at] = x; });
        __syncthreads();
        if (warp < HALF)
            each_sum(sums, [&](float x, unsigned at) { own[at] = x + own[at]; });
        __syncthreads();
    }
    static __device__ float sum_of(const float *slots, unsigned result) {
        const unsigned at = result / COLUMNS * PITCH + result % COLUMNS;
        return (slots[at] + slots[at + SUMS]) + (slots[at + 2 * SUMS] + slots[at + 3 * SUMS]);
    }
};

// Whether this block is the last one of the parts of a tile; then it sees the sums of all.
inline __device__ bool is_last(unsigned *ticket, unsigned parts) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = draw_ticket(ticket, parts) == parts - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

template <class T, int COLUMNS> __device__ void multiply_small(const gr_matmul_small_params &p) {
    using S = Small<T, COLUMNS>;
    typedef typename S::Tiles Tiles;
    __shared__ alignas(16) unsigned char room[S::ROOM];
    Tiles *tiles = reinterpret_cast<Tiles *>(room);
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned parts = unsigned(product.slices), part = blockIdx.x % parts, tile = blockIdx.x / parts;
    const unsigned n_tiles = unsigned(product.n_tiles);
    const uint64_t first_row = uint64_t(tile / n_tiles) * ROWS,
                   first_column = uint64_t(tile % n_tiles) * COLUMNS;
    const unsigned rows = unsigned(min(of.m - first_row, uint64_t(ROWS)));
    const unsigned columns = unsigned(min(of.n - first_column, uint64_t(COLUMNS)));
    const T *a = of.row_of_a(first_row), *b = of.b + int64_t(first_column) * of.b_column;
    const Order order_a = order_of(of.a, of.a_row, of.a_column),
                order_b = order_of(of.b, of.b_row, of.b_column);
    const uint64_t begin = part * p.part_k, end = min(begin + p.part_k, of.k);

    Panel<T, ROWS, S::TILE_K> next_a;
    Panel<T, S::TILE_K, COLUMNS> next_b;
    const auto load = [&](uint64_t k) {
        const unsigned deep = unsigned(min(end - k, uint64_t(S::TILE_K)));
        next_a.load(order_a, a + int64_t(k) * of.a_column, of.a_row, of.a_column, rows, deep);
        next_b.load(order_b, b + int64_t(k) * of.b_row, of.b_row, of.b_column, deep, columns);
    };
    pdl_launch_dependents();
    pdl_wait();
    typename S::Sums sums = {};
    load(begin);
    unsigned now = 0;
    for (uint64_t k = begin; k < end; k += S::TILE_K, now = (now + 1) % S::STAGES) {
        if (S::STAGES == 1)
            __syncthreads(); // the tiles are free
        next_a.store(order_a, tiles[now].a);
        next_b.store(order_b, tiles[now].b);
        __syncthreads(); // the other tiles are free after that, too
        if (k + S::TILE_K < end)
            load(k + S::TILE_K);
        S::multiply(tiles[now], threadIdx.x / 32 * S::STEP, sums);
    }
    float *slots = reinterpret_cast<float *>(room);
    S::join_warps(sums, slots);

    const auto store = [&](unsigned at, float sum) {
        const unsigned row = at / COLUMNS, column = at % COLUMNS;
        if (row < rows && column < columns)
            of.c[(first_row + row) * of.n + first_column + column] = T(sum);
    };
    if (parts == 1) {
        for (unsigned at = threadIdx.x; at < S::RESULTS; at += THREADS)
            store(at, S::sum_of(slots, at));
        return;
    }
    const uint64_t tiles_of_pair = gridDim.x / parts, number = pair * tiles_of_pair + tile;
    float *all = reinterpret_cast<float *>(p.sums) + number * parts * S::RESULTS;
    for (unsigned at = threadIdx.x; at < S::RESULTS; at += THREADS)
        all[part * S::RESULTS + at] = S::sum_of(slots, at);
    if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + number, parts))
        return;
    for (unsigned at = threadIdx.x; at < rows * COLUMNS; at += THREADS) {
        if (at % COLUMNS >= columns)
            continue;
        float sum = __ldcg(all + at);
#pragma unroll 8
        for (unsigned i = 1; i < parts; ++i)
            sum += __ldcg(all + i * S::RESULTS + at);
        store(at, sum);
    }
}

#define GR_SMALL(columns, suffix, T)                                                                         \
    GR_ENTRY((THREADS, 2), matmul_small_##columns##_##suffix, __grid_constant__ gr_matmul_small_params,      \
             multiply_small<T, columns>)
GR_SMALL(32, f16, gr_f16)
GR_SMALL(32, bf16, gr_bf16)
GR_SMALL(64, f16, gr_f16)
GR_SMALL(64, bf16, gr_bf16)
