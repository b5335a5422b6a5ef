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

// The part of a thread in the work of a block. `there`: it has filters.
template <class T, int VEC> struct ThreadFilters {
    typedef typename Accumulator<T>::type W;
    unsigned filter, position; // the first filter; the thread's place among those with the same filters
    bool there;
    const W *weights; // of the first filter and tap, in shared memory

    // Copies the filters of the block to shared memory.
    __device__ explicit ThreadFilters(const gr_conv_depthwise_params &p) {
        const gr_conv_params &conv = p.conv;
        const unsigned lane = threadIdx.x % p.lanes, first = blockIdx.x % p.chunks * p.lanes * VEC,
                       all = unsigned(conv.groups * conv.filters), columns = unsigned(conv.width.kernel),
                       taps = unsigned(conv.height.kernel) * columns;
        const unsigned count = min(p.lanes * VEC, all - first);
        W *staged = shared_array<W>();
        const T *from = reinterpret_cast<const T *>(conv.w) + int64_t(first) * conv.of_w.outer;
        pdl_as_comments::pdl_launch_dependents();
        pdl_as_comments::pdl_wait();
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < count * taps; i += THREADS) {
            const unsigned each = i / taps, tap = i % taps;
            staged[tap * p.pitch + each] =
                Accumulator<T>::of(from[each * conv.of_w.outer + tap / columns * conv.of_w.row +
                                        tap % columns * conv.of_w.column]);
        }
        __syncthreads();
        filter = first + lane * VEC;
        position = threadIdx.x / p.lanes;
        there = filter < all && position < p.rows * p.columns;
        weights = staged + lane * VEC;
    }
};

// Returns the first element of an image that the thread's filters read.
template <class T, int VEC>
__device__ const T *image_of(const gr_conv_params &conv, unsigned image, unsigned filter) {
    return reinterpret_cast<const T *>(conv.x) +
           conv_offset(conv.of_x, image, 0, 0, VEC > 1 ? filter : filter / unsigned(conv.filters));
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

// TAPS columns of taps and any rows of taps, both strides STRIDE, no dilation.
template <class T, int VEC, int TAPS, int STRIDE>
__device__ void tile_of_pixels(const gr_conv_depthwise_params &p) {
    enum { ROWS = GR_CONV_DEPTHWISE_TILE_ROWS };
    enum { COLUMNS = STRIDE == 1 ? GR_CONV_DEPTHWISE_TILE_COLUMNS : GR_CONV_DEPTHWISE_TILE_COLUMNS_STRIDE_2 };
    enum { SEEN = (COLUMNS - 1) * STRIDE + TAPS };
    typedef typename Accumulator<T>::type W;
    typedef Vec<T, VEC> Pack;
    typedef Vec<W, VEC> Weights;
    const gr_conv_params &conv = p.conv;
    const ThreadFilters<T, VEC> mine(p);
    if (!mine.there)
        return;
    const unsigned tap_rows = unsigned(conv.height.kernel);
    for (unsigned tile = blockIdx.x / p.chunks; tile < p.tiles; tile += gridDim.x / p.chunks) {
        unsigned image = tile;
        const unsigned along =
                           (next_digit(image, p.tiles_x) * p.columns + mine.position % p.columns) * COLUMNS,
                       down = (next_digit(image, p.tiles_y) * p.rows + mine.position / p.columns) * ROWS;
        if (along >= unsigned(conv.width.out) || down >= unsigned(conv.height.out))
            continue;
        const int top = int(down * STRIDE) - int(conv.height.padding),
                  left = int(along * STRIDE) - int(conv.width.padding);
        const T *line =
            image_of<T, VEC>(conv, image, mine.filter) + top * conv.of_x.row + left * conv.of_x.column;
        W sums[ROWS][COLUMNS][VEC] = {};
        for (unsigned i = 0; i < (ROWS - 1) * STRIDE + tap_rows; ++i, line += conv.of_x.row) {
            const bool row = unsigned(top + int(i)) < unsigned(conv.height.size);
            Pack some[SEEN];
            W seen[SEEN][VEC];
#pragma unroll
            for (int j = 0; j < SEEN; ++j)
                some[j] = load_if(row & (unsigned(left + j) < unsigned(conv.width.size)),
                                  reinterpret_cast<const Pack *>(line + j * conv.of_x.column));
#pragma unroll
            for (int j = 0; j < SEEN; ++j)
#pragma unroll
                for (int v = 0; v < VEC; ++v)
                    seen[j][v] = Accumulator<T>::of(some[j].at[v]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const unsigned tap_row = i - r * STRIDE; // that row r of the results multiplies by
                if (tap_row >= tap_rows)
                    continue;
                const W *weights = mine.weights + tap_row * TAPS * p.pitch;
#pragma unroll
                for (int j = 0; j < TAPS; ++j) {
                    const Weights each = *reinterpret_cast<const Weights *>(weights + j * p.pitch);
#pragma unroll
                    for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                        for (int v = 0; v < VEC; ++v)
                            sums[r][c][v] = multiply_add(seen[c * STRIDE + j][v], each.at[v], sums[r][c][v]);
                }
            }
        }
        T *to = reinterpret_cast<T *>(conv.out) + conv_offset(conv.of_out, image, down, along, mine.filter);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (down + r < unsigned(conv.height.out) && along + c < unsigned(conv.width.out))
                    store_results<T, VEC>(to + r * conv.of_out.row + c * conv.of_out.column, sums[r][c]);
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
