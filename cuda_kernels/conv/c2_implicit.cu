// c2: implicit GEMM.
//
// What c1 still cost: a matrix nine times as large as x, for a kernel of 3 x 3, written to memory and read
// again.
// The change: the matrix is never in memory. A block computes a tile of the product, of 128 pixels and some
// filters, and for each step along k it gathers the tile of that matrix directly in shared memory: the index
// k determines the distance of an element from the first one of a pixel. A thread computes four by four
// results. What limits it now: an element is loaded nine times, if from the caches, and its address is
// computed each time; and a thread loads eight elements from shared memory for 16 multiply-adds. Where
// it shows: bytes per multiply-add; multiply-adds per instruction.
#include "common/entry.cuh"
#include "conv/k_index.cuh"
#include "conv/tiles.cuh"

using namespace gr::conv;

enum {
    PIXELS = GR_CONV_C2_PIXELS,
    TILE_K = 16,
    FILTERS = GR_CONV_C2_FILTERS,
    AT_ONCE = 3
}; // of filters, at most

// The first element under the taps of a pixel, which may be outside of the image.
struct alignas(16) Pixel {
    unsigned top, left; // or below 0: greater than any index of an element
    int64_t of_x;
};

struct Tiles {
    float a[TILE_K][PIXELS + 4], b[TILE_K][FILTERS + 4]; // longer rows, so that neighbours lie in other banks
    Pixel pixels[PIXELS];
    KIndex taps[2][TILE_K]; // of a step, and of the next
};

inline __device__ Pixel pixel_of(const gr_conv_params &p, uint64_t number, uint64_t channel) {
    const uint64_t along = number % p.width.out, row = number / p.width.out;
    const int top = int(int64_t(row % p.height.out * p.height.stride) - p.height.padding);
    const int left = int(int64_t(along * p.width.stride) - p.width.padding);
    Pixel it;
    it.top = row / p.height.out < p.batch ? unsigned(top) : NOWHERE;
    it.left = unsigned(left);
    it.of_x = int64_t(row / p.height.out) * p.of_x.outer + top * p.of_x.row + left * p.of_x.column +
              int64_t(channel) * p.of_x.channel;
    return it;
}

inline __device__ float element(const gr_conv_params &p, const float *x, const Pixel &pixel,
                                const KIndex &tap) {
    const bool there = pixel.top + tap.down < p.height.size && pixel.left + tap.along < p.width.size;
    return there ? x[tap.of_x] : 0;
}

template <bool CHANNELS_LAST> __device__ void conv(const gr_conv_tiles_params &tiled) {
    __shared__ Tiles tiles;
    const gr_conv_params &p = tiled.conv;
    const FilterTile part(tiled);
    const uint64_t first = uint64_t(part.rest) * PIXELS, pixels = p.batch * p.height.out * p.width.out;
    const unsigned k = unsigned(p.height.kernel * p.width.kernel * p.channels);
    const unsigned filters = unsigned(p.filters) - part.first;
    const float *x = reinterpret_cast<const float *>(p.x), *w = part.filters(p);
    const bool fours = CHANNELS_LAST && p.channels % 4 == 0 && p.groups * p.channels % 4 == 0;
    const unsigned pixel = threadIdx.x % 32 * 4, filter = threadIdx.x / 32 * 4; // of the thread's results
    for (unsigned i = threadIdx.x; i < PIXELS; i += blockDim.x)
        tiles.pixels[i] = pixel_of(p, first + i, part.group * p.channels);
    if (threadIdx.x < TILE_K)
        tiles.taps[0][threadIdx.x] = k_index<CHANNELS_LAST>(p, threadIdx.x);

    float sums[4][4] = {};
    for (unsigned step = 0, now = 0; step < k; step += TILE_K, now ^= 1) {
        __syncthreads(); // the tiles of the last step are no longer read; the taps of this step are stored
        const KIndex *taps = tiles.taps[now];
        // Four along k for each pixel; where four channels lie together, in one load. All loads come first.
        for (unsigned begin = threadIdx.x; begin < PIXELS * TILE_K / 4; begin += AT_ONCE * blockDim.x) {
            float a[AT_ONCE][4] = {};
#pragma unroll
            for (int turn = 0; turn < AT_ONCE; ++turn) {
                const unsigned i = begin + turn * blockDim.x, at = i / PIXELS * 4;
                if (i >= PIXELS * TILE_K / 4)
                    break;
                const Pixel seen = tiles.pixels[i % PIXELS];
                if (!fours)
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        a[turn][j] = element(p, x + seen.of_x, seen, taps[at + j]);
                else if (seen.top + taps[at].down < p.height.size &&
                         seen.left + taps[at].along < p.width.size)
                    load_four(x + seen.of_x + taps[at].of_x, a[turn]);
            }
#pragma unroll
            for (int turn = 0; turn < AT_ONCE; ++turn) {
                const unsigned i = begin + turn * blockDim.x;
                if (i < PIXELS * TILE_K / 4)
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        tiles.a[i / PIXELS * 4 + j][i % PIXELS] = a[turn][j];
            }
        }
        for (unsigned i = threadIdx.x; i < unsigned(tiled.filters) * TILE_K; i += blockDim.x) {
            const unsigned at = i % TILE_K, to = i / TILE_K;
            const bool there = step + at < k && to < filters;
            tiles.b[at][to] = there ? w[int64_t(to) * p.of_w.outer + taps[at].of_w] : 0;
        }
        if (threadIdx.x < TILE_K)
            tiles.taps[now ^ 1][threadIdx.x] = k_index<CHANNELS_LAST>(p, step + TILE_K + threadIdx.x);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            float a[4], b[4];
            load_four(&tiles.a[i][pixel], a);
            load_four(&tiles.b[i][filter], b);
            add_products_serpentine(a, b, sums);
        }
    }
    const bool aligned = fours_aligned(p);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint64_t number = first + pixel + i, along = number % p.width.out, row = number / p.width.out;
        if (number < pixels)
            store_filters<4>(
                p, part.results(p, row / p.height.out, row % p.height.out, along) + filter * p.of_out.channel,
                int(filters) - int(filter), aligned, sums[i]);
    }
}

static_assert(row_c2.threads == FILTERS * 8);
GR_ENTRY((FILTERS * 8), c2_f32_nhwc, __grid_constant__ gr_conv_tiles_params, conv<true>)
GR_ENTRY((FILTERS * 8), c2_f32_nchw, __grid_constant__ gr_conv_tiles_params, conv<false>)
