// c2_winograd: Winograd's F(2 x 2, 3 x 3).
//
// What c2 still cost, and c2_ring costs: nine multiply-adds per result, channel and filter. The change: 2 x 2
// results, which depend on 4 x 4 elements of x, need only 16 products of transformed numbers, four per
// result: B'dB of the elements, GgG' of the filter's nine taps, and A'mA of the sums of their products (S.
// Winograd, "Arithmetic Complexity of Computations", 1980; A. Lavin and S. Gray, arXiv 1509.09308). For each
// of the 16 positions that is a matrix multiplication, of tiles by channels and channels by filters,
// which the best kernel for it computes. It is not a rung of the ladder, and never the default: every result
// depends on all 4 x 4 elements, so an infinity or a NaN spreads over its tile, and the error is bounded by
// the largest products of a tile, not by those of the result. What limits it: memory; four times the elements
// of x are written and read, and four times the results. Where it shows: multiply-adds, and bytes of global
// sectors.
#include "conv/conv.cuh"

using namespace gr::conv;

enum { THREADS = row_c2_winograd.threads, HIGH = 2, SEEN = 4, PLACES = SEEN * SEEN };

inline __device__ float4 operator+(float4 a, float4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
inline __device__ float4 operator-(float4 a, float4 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
}

// Of four neighbours along a row or a column: `apart` from one to the next.
template <class V> __device__ void transform(V *d, int apart) {
    const V first = d[0] - d[2 * apart], second = d[apart] + d[2 * apart], third = d[2 * apart] - d[apart],
            fourth = d[apart] - d[3 * apart];
    d[0] = first;
    d[apart] = second;
    d[2 * apart] = third;
    d[3 * apart] = fourth;
}

template <class V> __device__ void transform_back(V *m, int apart) {
    const V first = m[0] + m[apart] + m[2 * apart], second = m[apart] - m[2 * apart] - m[3 * apart];
    m[0] = first;
    m[apart] = second;
}

// A thread's tile of a picture, by its number, and which channel or filter.
struct Tile {
    unsigned picture, down, along;
    __device__ Tile(const gr_conv_tiles_params &p, unsigned tile)
        : picture(tile / unsigned(p.tiles_x) / unsigned(p.tiles_y)),
          down(tile / unsigned(p.tiles_x) % unsigned(p.tiles_y) * HIGH),
          along(tile % unsigned(p.tiles_x) * HIGH) {
    }
};

inline __device__ unsigned thread_number() {
    return blockIdx.x * THREADS + threadIdx.x;
}

// The elements under a tile, of LENGTH channels; `all` is the number of both.
template <class V>
__device__ void transform_pictures(const gr_conv_params &p, const Tile &tile, unsigned channel, int64_t all) {
    const int top = int(tile.down) - int(p.height.padding), left = int(tile.along) - int(p.width.padding);
    const float *from =
        reinterpret_cast<const float *>(p.x) + conv_offset(p.of_x, tile.picture, 0, 0, channel);
    V d[PLACES];
#pragma unroll
    for (int i = 0; i < PLACES; ++i) {
        const int row = top + i / SEEN, column = left + i % SEEN;
        const bool there =
            unsigned(row) < unsigned(p.height.size) && unsigned(column) < unsigned(p.width.size);
        d[i] = there ? *reinterpret_cast<const V *>(from + row * p.of_x.row + column * p.of_x.column) : V();
    }
#pragma unroll
    for (int i = 0; i < SEEN; ++i)
        transform(d + i, SEEN);
#pragma unroll
    for (int i = 0; i < SEEN; ++i)
        transform(d + SEEN * i, 1);
    V *to = reinterpret_cast<V *>(p.out) + thread_number();
#pragma unroll
    for (int i = 0; i < PLACES; ++i)
        to[i * all] = d[i];
}

template <class V>
__device__ void put_results(const gr_conv_params &p, const Tile &tile, unsigned filter, int64_t all) {
    const V *from = reinterpret_cast<const V *>(p.x) + thread_number();
    V m[PLACES];
#pragma unroll
    for (int i = 0; i < PLACES; ++i)
        m[i] = from[i * all];
#pragma unroll
    for (int i = 0; i < SEEN; ++i)
        transform_back(m + i, SEEN);
#pragma unroll
    for (int i = 0; i < HIGH; ++i)
        transform_back(m + SEEN * i, 1);
    float *to =
        reinterpret_cast<float *>(p.out) + conv_offset(p.of_out, tile.picture, tile.down, tile.along, filter);
#pragma unroll
    for (int i = 0; i < HIGH * HIGH; ++i)
        if (tile.down + i / HIGH < p.height.out && tile.along + i % HIGH < p.width.out)
            *reinterpret_cast<V *>(to + i / HIGH * p.of_out.row + i % HIGH * p.of_out.column) =
                m[i / HIGH * SEEN + i % HIGH];
}

// Of three neighbours, to four that lie `apart`.
inline __device__ void transform_taps(float a, float b, float c, float *to, int apart) {
    to[0] = a;
    to[apart] = 0.5f * (a + c + b);
    to[2 * apart] = 0.5f * (a + c - b);
    to[3 * apart] = c;
}

// Of a filter and a channel.
inline __device__ void transform_filter(const gr_conv_params &p, unsigned filter, unsigned channel,
                                        float (&to)[PLACES]) {
    enum { TAPS = 3 };
    const float *w = reinterpret_cast<const float *>(p.w) + conv_offset(p.of_w, filter, 0, 0, channel);
    float half[SEEN][TAPS];
#pragma unroll
    for (int j = 0; j < TAPS; ++j)
        transform_taps(w[j * p.of_w.column], w[p.of_w.row + j * p.of_w.column],
                       w[2 * p.of_w.row + j * p.of_w.column], &half[0][j], TAPS);
#pragma unroll
    for (int i = 0; i < SEEN; ++i)
        transform_taps(half[i][0], half[i][1], half[i][2], to + SEEN * i, 1);
}

#define GR_WINOGRAD(name)                                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        c2_winograd_f32_##name(const __grid_constant__ gr_conv_tiles_params p)

// In NHWC neighbours have neighbouring channels or filters, in NCHW neighbouring tiles; of w, the filters, or
// the channels, as the product takes them side by side.
GR_WINOGRAD(pictures_nhwc) {
    const unsigned vec4s = unsigned(p.conv.channels) / 4, number = thread_number();
    if (number < unsigned(p.filter_tiles) * vec4s)
        transform_pictures<float4>(p.conv, Tile(p, number / vec4s), number % vec4s * 4,
                                   int64_t(p.filter_tiles) * vec4s);
}
GR_WINOGRAD(pictures_nchw) {
    const unsigned tiles = unsigned(p.filter_tiles), channels = unsigned(p.conv.channels),
                   number = thread_number();
    if (number < tiles * channels)
        transform_pictures<float>(p.conv, Tile(p, number % tiles), number / tiles, int64_t(tiles) * channels);
}
GR_WINOGRAD(results_nhwc) {
    const unsigned vec4s = unsigned(p.conv.filters) / 4, number = thread_number();
    if (number < unsigned(p.filter_tiles) * vec4s)
        put_results<float4>(p.conv, Tile(p, number / vec4s), number % vec4s * 4,
                            int64_t(p.filter_tiles) * vec4s);
}
GR_WINOGRAD(results_nchw) {
    const unsigned tiles = unsigned(p.filter_tiles), filters = unsigned(p.conv.filters),
                   number = thread_number();
    if (number < tiles * filters)
        put_results<float>(p.conv, Tile(p, number % tiles), number / tiles, int64_t(tiles) * filters);
}
GR_WINOGRAD(filters_nhwc) { // a block has a square, which is turned in shared memory
    enum { SQUARE = GR_CONV_WINOGRAD_BLOCK };
    static_assert(SQUARE * SQUARE == THREADS, "a thread for each");
    __shared__ float turned[PLACES][SQUARE][SQUARE + 1];
    const unsigned channels = unsigned(p.conv.channels), filters = unsigned(p.conv.filters);
    const unsigned parts = (filters + SQUARE - 1) / SQUARE, low = threadIdx.x % SQUARE,
                   high = threadIdx.x / SQUARE;
    const unsigned first = blockIdx.x % parts * SQUARE, deep = blockIdx.x / parts * SQUARE;
    if (first + high < filters && deep + low < channels) {
        float some[PLACES];
        transform_filter(p.conv, first + high, deep + low, some);
#pragma unroll
        for (int i = 0; i < PLACES; ++i)
            turned[i][high][low] = some[i];
    }
    __syncthreads();
    float *to = reinterpret_cast<float *>(p.conv.out) + int64_t(deep + high) * filters + first + low;
    if (first + low < filters && deep + high < channels)
#pragma unroll
        for (int i = 0; i < PLACES; ++i)
            to[i * (int64_t(channels) * filters)] = turned[i][low][high];
}
GR_WINOGRAD(filters_nchw) {
    const unsigned channels = unsigned(p.conv.channels), filters = unsigned(p.conv.filters),
                   number = thread_number();
    if (number >= channels * filters)
        return;
    float some[PLACES];
    transform_filter(p.conv, number / channels, number % channels, some);
    float *to = reinterpret_cast<float *>(p.conv.out) + number;
#pragma unroll
    for (int i = 0; i < PLACES; ++i)
        to[i * (int64_t(channels) * filters)] = some[i];
}
