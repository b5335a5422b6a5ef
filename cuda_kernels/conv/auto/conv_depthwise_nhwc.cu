// Depthwise convolutions in NHWC with 3, 5 or 7 columns of taps: each group has one channel, so that there is
// no matrix multiplication. The filters of a block are in shared memory, tap by tap, as consecutive threads
// have consecutive filters. A thread computes ROWS x COLUMNS pixels of VEC filters, and keeps the elements of
// x that a row of its pixels reads in registers. A result adds up its products in the order of the taps,
// those with the zeros of the padding included.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "common/vec.cuh"
#include "conv/predicated.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_DEPTHWISE_THREADS };

// The filters of a thread, which are columns of the filters of its block. `there`: the thread has filters.
struct ThreadFilters {
    unsigned first_of_block, lane, position; // the block's first filter; the thread's place among those with
                                             // the same filters
    unsigned filter;                         // the first of the thread
    bool there;
};

template <int VEC> __device__ ThreadFilters thread_filters(const gr_conv_depthwise_params &p) {
    ThreadFilters it;
    it.first_of_block = blockIdx.x % p.chunks * p.lanes * VEC;
    it.lane = threadIdx.x % p.lanes;
    it.position = threadIdx.x / p.lanes;
    it.filter = it.first_of_block + it.lane * VEC;
    it.there = it.filter < unsigned(p.conv.groups * p.conv.filters) && it.position < p.rows * p.columns;
    return it;
}

// Copies the filters of the block to shared memory, tap by tap.
template <class T, int VEC, int TAPS, class W>
__device__ void stage_filters(const gr_conv_depthwise_params &p, unsigned first, W *staged) {
    const gr_conv_params &conv = p.conv;
    const unsigned taps = unsigned(conv.height.kernel) * TAPS,
                   count = min(p.lanes * VEC, unsigned(conv.groups * conv.filters) - first);
    const T *from = reinterpret_cast<const T *>(conv.w) + int64_t(first) * conv.of_w.outer;
#pragma unroll(TAPS > 3 ? 8 : 4)
    for (unsigned i = threadIdx.x; i < count * taps; i += THREADS) {
        const unsigned each = i / taps, tap = i % taps;
        staged[tap * p.pitch + each] = Accumulator<T>::of(
            from[each * conv.of_w.outer + tap / TAPS * conv.of_w.row + tap % TAPS * conv.of_w.column]);
    }
}

template <class T, int VEC, class W> __device__ void store_results(T *to, const W (&sums)[VEC]) {
    Vec<T, VEC> results;
#pragma unroll
    for (int v = 0; v < VEC; ++v)
        results.at[v] = Accumulator<T>::back(sums[v]);
    if constexpr (VEC > 1)
        store(reinterpret_cast<Vec<T, VEC> *>(to), results);
    else
        *to = results.at[0];
}

// The first pixel of a thread in a tile. `there`: it is a pixel of the result.
struct FirstPixel {
    unsigned image, down, along;
    bool there;
};

template <int ROWS, int COLUMNS>
__device__ FirstPixel first_pixel(const gr_conv_depthwise_params &p, unsigned tile,
                                  const ThreadFilters &mine) {
    FirstPixel it;
    it.image = tile;
    it.along = (next_digit(it.image, p.tiles_x) * p.columns + mine.position % p.columns) * COLUMNS;
    it.down = (next_digit(it.image, p.tiles_y) * p.rows + mine.position / p.columns) * ROWS;
    it.there = mine.there && it.along < unsigned(p.conv.width.out) && it.down < unsigned(p.conv.height.out);
    return it;
}

// The elements of x that AT_ONCE rows of taps of a thread's pixels read. Their loads are in flight together.
// The planner ensures that distances in x fit in 32 bits.
template <class T, int VEC, int SEEN, int AT_ONCE> struct SeenRows {
    typedef Vec<T, VEC> Pack;
    Pack at[AT_ONCE][SEEN];

    // Loads the rows from `first` on of the `rows` that the pixels at `place` read, or zeros.
    template <int STRIDE>
    __device__ void load(const gr_conv_params &conv, const FirstPixel &place, unsigned filter, unsigned first,
                         unsigned rows) {
        const int row_step = int(conv.of_x.row), column_step = int(conv.of_x.column);
        const int top = int(place.down * STRIDE) - int(conv.height.padding) + int(first),
                  left = int(place.along * STRIDE) - int(conv.width.padding);
        const unsigned channel = VEC > 1 ? filter : filter / unsigned(conv.filters);
        int line = int(place.image) * int(conv.of_x.outer) + int(channel) * int(conv.of_x.channel) +
                   top * row_step + left * column_step;
        const T *x = reinterpret_cast<const T *>(conv.x);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i, line += row_step) {
            const bool row =
                place.there & (first + i < rows) & (unsigned(top + i) < unsigned(conv.height.size));
#pragma unroll
            for (int j = 0; j < SEEN; ++j)
                at[i][j] = load_if(row & (unsigned(left + j) < unsigned(conv.width.size)),
                                   reinterpret_cast<const Pack *>(x + (line + j * column_step)));
        }
    }
};

// TAPS columns of taps and any rows of taps, both strides STRIDE, no dilation. The first loads of x are in
// flight while the block stages its filters.
template <class T, int VEC, int TAPS, int STRIDE>
__device__ void tile_of_pixels(const gr_conv_depthwise_params &p) {
    enum { ROWS = GR_CONV_DEPTHWISE_TILE_ROWS };
    enum { COLUMNS = STRIDE == 1 ? GR_CONV_DEPTHWISE_TILE_COLUMNS : GR_CONV_DEPTHWISE_TILE_COLUMNS_STRIDE_2 };
    enum { SEEN = (COLUMNS - 1) * STRIDE + TAPS };
    enum {
        AT_ONCE = VEC > 1                   ? 1
                  : TAPS == 3               ? (ROWS - 1) * STRIDE + TAPS
                  : TAPS == 7 && STRIDE > 1 ? 5
                                            : 3
    }; // rows of x
    typedef typename Accumulator<T>::type W;
    typedef Vec<W, VEC> Weights;
    const gr_conv_params &conv = p.conv;
    const ThreadFilters mine = thread_filters<VEC>(p);
    const unsigned tap_rows = unsigned(conv.height.kernel), rows = (ROWS - 1) * STRIDE + tap_rows;
    W *staged = shared_array<W>();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    bool is_staged = false;
    for (unsigned tile = blockIdx.x / p.chunks; tile < p.tiles; tile += gridDim.x / p.chunks) {
        const FirstPixel place = first_pixel<ROWS, COLUMNS>(p, tile, mine);
        W sums[ROWS][COLUMNS][VEC] = {};
#pragma unroll 1
        for (unsigned first = 0; first < rows; first += AT_ONCE) {
            SeenRows<T, VEC, SEEN, AT_ONCE> seen;
            seen.template load<STRIDE>(conv, place, mine.filter, first, rows);
            if (!is_staged) {
                stage_filters<T, VEC, TAPS>(p, mine.first_of_block, staged);
                __syncthreads();
                is_staged = true;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                W values[SEEN][VEC];
#pragma unroll
                for (int j = 0; j < SEEN; ++j)
#pragma unroll
                    for (int v = 0; v < VEC; ++v)
                        values[j][v] = Accumulator<T>::of(seen.at[i][j].at[v]);
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const unsigned tap_row =
                        first + i - r * STRIDE; // that row r of the results multiplies by
                    if (tap_row >= tap_rows)
                        continue;
                    const W *weights = staged + mine.lane * VEC + tap_row * TAPS * p.pitch;
#pragma unroll
                    for (int j = 0; j < TAPS; ++j) {
                        const Weights each = *reinterpret_cast<const Weights *>(weights + j * p.pitch);
#pragma unroll
                        for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                            for (int v = 0; v < VEC; ++v)
                                sums[r][c][v] =
                                    multiply_add(values[c * STRIDE + j][v], each.at[v], sums[r][c][v]);
                    }
                }
            }
        }
        const int row_step = int(conv.of_out.row), column_step = int(conv.of_out.column);
        T *to = reinterpret_cast<T *>(conv.out) +
                (int(place.image) * int(conv.of_out.outer) + int(place.down) * row_step +
                 int(place.along) * column_step + int(mine.filter));
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (place.there & (place.down + r < unsigned(conv.height.out)) &
                    (place.along + c < unsigned(conv.width.out)))
                    store_results<T, VEC>(to + (r * row_step + c * column_step), sums[r][c]);
    }
}

#define GR_KERNEL(name, ...)                                                                                 \
    GR_ENTRY((THREADS), conv_depthwise_nhwc_##name, __grid_constant__ gr_conv_depthwise_params, __VA_ARGS__)
#define GR_TILES(suffix, T, VEC, TAPS)                                                                       \
    GR_KERNEL(suffix##_##VEC##_##TAPS##_1, tile_of_pixels<T, VEC, TAPS, 1>)                                  \
    GR_KERNEL(suffix##_##VEC##_##TAPS##_2, tile_of_pixels<T, VEC, TAPS, 2>)
#define GR_DEPTHWISE(suffix, T)                                                                              \
    GR_TILES(suffix, T, 1, 3)                                                                                \
    GR_TILES(suffix, T, 1, 5)                                                                                \
    GR_TILES(suffix, T, 1, 7)                                                                                \
    GR_TILES(suffix, T, 4, 5)                                                                                \
    GR_TILES(suffix, T, 4, 7)

GR_DEPTHWISE(f32, float)
GR_DEPTHWISE(f16, gr_f16)
GR_DEPTHWISE(bf16, gr_bf16)
