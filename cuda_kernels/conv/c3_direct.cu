// c3: direct convolution, without a matrix multiplication.
//
// What c2 still cost: the elements of x were loaded once per tap, each with its own address computation.
// The change: a block computes a rectangle of the results of an image, and loads into shared memory its part
// of x, halo included, and the filters, so that a tap is just another offset there: nine taps use an element
// that is loaded once. Four channels of a pixel are contiguous, and one load reads them; a thread computes
// eight rows of a column, of 12 filters, whose weights all pixels of a warp share. Two neighbouring lanes
// have the filters of one pixel, alternating in groups of four, so that a store fills sectors. What limits it
// now: loading, computing and storing hardly overlap, because all blocks start together. Where it shows:
// loads from shared memory, 20 for 384 multiply-adds; bytes from global memory.
#include "common/entry.cuh"
#include "common/shared_array.cuh"
#include "conv/tiles.cuh"

using namespace gr::conv;

enum { DOWN = 8, FILTERS = 12 }; // of a thread
enum { WARPS = 4, THREADS = 32 * WARPS, BLOCK_FILTERS = 2 * FILTERS, BLOCK_COLUMNS = 16 * WARPS };
static_assert(DOWN == GR_CONV_C3_ROWS && BLOCK_COLUMNS == GR_CONV_C3_COLUMNS &&
              BLOCK_FILTERS == GR_CONV_C3_FILTERS && THREADS == row_c3.threads);

// The part of x and the filters that a block holds: as many channels as fit.
struct Seen {
    const gr_conv_params &p;
    unsigned rows, columns, vec4s;
    int top, left; // of x
    const float *x, *w;
    int filters;  // that there are
    bool whole;   // channels come four at once
    float4 *tile; // [vec4][row][column]
    float *bank;  // [tap][channel][filter]

    __device__ Seen(const gr_conv_tiles_params &tiled, const FilterTile &part, unsigned picture, unsigned top,
                    unsigned left, float4 *shared)
        : p(tiled.conv), rows(unsigned(tiled.rows)), columns(unsigned(tiled.columns)),
          vec4s(unsigned(tiled.channel_vec4s)),
          top(int(top * unsigned(p.height.stride)) - int(p.height.padding)),
          left(int(left * unsigned(p.width.stride)) - int(p.width.padding)),
          x(reinterpret_cast<const float *>(p.x) +
            conv_offset(p.of_x, picture, 0, 0, part.group * p.channels)),
          w(part.filters(p)), filters(int(p.filters) - int(part.first)),
          whole(p.of_x.channel == 1 && p.channels % 4 == 0 && p.groups * p.channels % 4 == 0), tile(shared),
          bank(reinterpret_cast<float *>(shared + vec4s * rows * columns)) {
    }

    // The pixel of a row, channels from `channel` on.
    __device__ void begin_quad(float4 *to, unsigned row, unsigned column, unsigned channel) const {
        const bool there =
            unsigned(top + int(row)) < p.height.size && unsigned(left + int(column)) < p.width.size;
        const float *from = x + (top + int(row)) * p.of_x.row + (left + int(column)) * p.of_x.column +
                            channel * p.of_x.channel;
        if (whole)
            ptx::cp_async<16>(to, there && channel < p.channels ? from : x,
                              there && channel < p.channels ? 16 : 0);
        else
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                const bool it = there && channel + i < p.channels;
                ptx::cp_async<4>(reinterpret_cast<float *>(to) + i, it ? from + i * p.of_x.channel : x,
                                 it ? 4 : 0);
            }
    }

    // A warp for each row. Neighbouring lanes take what is contiguous: vec4s of a pixel, or pixels.
    template <bool CHANNELS_LAST> __device__ void begin_rows(unsigned channel) const {
        const unsigned lane = threadIdx.x % 32, later_vec4 = 32 % vec4s, later_column = 32 / vec4s;
        for (unsigned row = threadIdx.x / 32; row < rows; row += WARPS) {
            unsigned vec4 = CHANNELS_LAST ? lane % vec4s : 0, column = CHANNELS_LAST ? lane / vec4s : lane;
            while (vec4 < vec4s && column < columns) {
                begin_quad(tile + (vec4 * rows + row) * columns + column, row, column, channel + 4 * vec4);
                column += CHANNELS_LAST ? later_column : 32;
                vec4 += CHANNELS_LAST ? later_vec4 : column >= columns;
                if (CHANNELS_LAST && vec4 >= vec4s)
                    vec4 -= vec4s, ++column;
                else if (!CHANNELS_LAST && column >= columns)
                    column = lane;
            }
        }
    }

    // A lane for each filter, a warp for each channel of each tap.
    template <bool CHANNELS_LAST> __device__ void begin_filters(unsigned channel) const {
        const unsigned lane = threadIdx.x % 32, deep = 4 * vec4s,
                       taps = unsigned(p.height.kernel * p.width.kernel);
        const unsigned channels = unsigned(p.channels);
        if (lane >= BLOCK_FILTERS)
            return;
        const float *from = w + lane * p.of_w.outer;
        unsigned tap = 0, c = threadIdx.x / 32;
        for (float *to = bank + c * BLOCK_FILTERS + lane; tap < taps; to += WARPS * BLOCK_FILTERS) {
            const bool there = int(lane) < filters && channel + c < channels;
            const unsigned at = CHANNELS_LAST ? tap * channels + channel + c : (channel + c) * taps + tap;
            ptx::cp_async<4>(to, there ? from + at : w, there ? 4 : 0);
            for (c += WARPS; c >= deep; c -= deep)
                ++tap;
        }
    }
};

template <bool CHANNELS_LAST> __device__ void conv(const gr_conv_tiles_params &tiled) {
    const gr_conv_params &p = tiled.conv;
    const FilterTile part(tiled);
    const unsigned across = unsigned(tiled.tiles_x), down = unsigned(tiled.tiles_y),
                   picture = part.rest / across / down;
    const unsigned top = part.rest / across % down * DOWN, left = part.rest % across * BLOCK_COLUMNS;
    const Seen seen(tiled, part, picture, top, left, shared_array<float4>());
    const unsigned half = threadIdx.x % 2 * 4, column = threadIdx.x / 2; // of the thread
    const unsigned from_row_to_row = unsigned(p.height.stride) * seen.columns;

    float sums[DOWN][FILTERS] = {};
    for (unsigned channel = 0; channel < p.channels; channel += 4 * seen.vec4s) {
        if (channel > 0)
            __syncthreads(); // what comes before is no longer read
        seen.begin_rows<CHANNELS_LAST>(channel);
        seen.begin_filters<CHANNELS_LAST>(channel);
        ptx::cp_async_commit_group();
        ptx::cp_async_wait_group<0>();
        __syncthreads();
        const float *weights = seen.bank + half;
        for (unsigned i = 0; i < p.height.kernel; ++i)
            for (unsigned j = 0; j < p.width.kernel; ++j) {
                const float4 *pixel = seen.tile + i * unsigned(p.height.dilation) * seen.columns +
                                      column * unsigned(p.width.stride) + j * unsigned(p.width.dilation);
#pragma unroll 1
                for (unsigned vec4 = 0; vec4 < seen.vec4s; ++vec4, pixel += seen.rows * seen.columns) {
                    float pixels[DOWN][4];
#pragma unroll
                    for (int r = 0; r < DOWN; ++r)
                        load_four(reinterpret_cast<const float *>(pixel + r * from_row_to_row), pixels[r]);
#pragma unroll
                    for (int c = 0; c < 4; ++c, weights += BLOCK_FILTERS) {
                        float of_pixel[DOWN], of_filter[FILTERS];
#pragma unroll
                        for (int r = 0; r < DOWN; ++r)
                            of_pixel[r] = pixels[r][c];
                        load_fragment<8>(weights, of_filter);
                        add_products_serpentine(of_pixel, of_filter, sums);
                    }
                }
            }
    }
    const bool aligned = fours_aligned(p);
#pragma unroll
    for (int r = 0; r < DOWN; ++r)
        if (left + column < p.width.out && top + r < p.height.out) {
            float *to = part.results(p, picture, top + r, left + column);
#pragma unroll
            for (int i = 0; i < FILTERS; i += 4)
                store_filters<4>(p, to + (2 * i + half) * p.of_out.channel, seen.filters - 2 * i - int(half),
                                 aligned, sums[r] + i);
        }
}

GR_ENTRY((THREADS, 2), c3_f32_nhwc, __grid_constant__ gr_conv_tiles_params, conv<true>)
GR_ENTRY((THREADS, 2), c3_f32_nchw, __grid_constant__ gr_conv_tiles_params, conv<false>)
