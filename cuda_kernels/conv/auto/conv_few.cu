// Convolutions with few filters, which would leave most of a tile of a matrix multiplication empty. A thread
// multiplies elements of x of several pixels by elements of several filters, straight from the L1 cache. The
// warps of a block share k and add up their sums in shared memory, so that blocks of few pixels have enough
// loads in flight. The order of the sums depends on the sizes of a filter alone.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "conv/predicated.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_FEW_THREADS, LANES = 32, WARPS = THREADS / LANES };

// A pixel of the result, and the element of x under its first tap, which may be outside of the image.
struct Pixel {
    unsigned image, down, along;
    int top, left;
    bool there;
};

inline __device__ Pixel pixel_of(const gr_conv_params &p, unsigned number) {
    Pixel it;
    it.image = number;
    it.along = next_digit(it.image, unsigned(p.width.out));
    it.down = next_digit(it.image, unsigned(p.height.out));
    it.top = int(it.down * unsigned(p.height.stride)) - int(p.height.padding);
    it.left = int(it.along * unsigned(p.width.stride)) - int(p.width.padding);
    it.there = it.image < p.batch;
    return it;
}

template <class T>
__device__ const T *first_element(const gr_conv_params &p, const Pixel &of, unsigned channel) {
    return reinterpret_cast<const T *>(p.x) + conv_offset(p.of_x, of.image, 0, 0, channel) +
           of.top * p.of_x.row + of.left * p.of_x.column;
}

// Adds up value i of all lanes for lane i.
inline __device__ float sum_for_lane(float (&values)[LANES]) {
#pragma unroll
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        const bool upper = threadIdx.x & apart;
#pragma unroll
        for (int i = 0; i < apart; ++i) {
            const float sent = upper ? values[i] : values[i + apart];
            const float kept = upper ? values[i + apart] : values[i];
            values[i] = kept + __shfl_xor_sync(0xffffffff, sent, apart);
        }
    }
    return values[0];
}

// What the lanes need of a pixel: the distance of its first tap in x, the row of that tap, and which elements
// of a run are in the image.
struct alignas(8) RunPixel {
    int64_t of_x;
    int top;
    unsigned begin, length;
    int64_t of_out; // below 0: there is no such pixel
};

inline __device__ RunPixel run_pixel(const gr_conv_params &p, unsigned number) {
    const Pixel pixel = pixel_of(p, number);
    const unsigned channels = unsigned(p.channels);
    const int first = max(-pixel.left, 0), end = min(int(p.width.size) - pixel.left, int(p.width.kernel));
    return {conv_offset(p.of_x, pixel.image, 0, 0, 0) + pixel.top * p.of_x.row + pixel.left * p.of_x.column,
            pixel.top, unsigned(first) * channels,
            pixel.there && end > first ? unsigned(end - first) * channels : 0,
            pixel.there ? conv_offset(p.of_out, pixel.image, pixel.down, pixel.along, 0) : -1};
}

// NHWC, one group, whose pixels are contiguous: the taps of a row of a filter are a run of elements of x and
// of w. Lanes have neighbouring elements of these runs. Several warps take those of a pixel in turns, more of
// them the longer a filter is.
template <class T, int FILTERS> __device__ void along_channels(const gr_conv_params &p) {
    enum { PIXELS = LANES / FILTERS, ALL_PIXELS = PIXELS * WARPS };
    __shared__ float parts[WARPS][LANES];
    __shared__ RunPixel pixels[ALL_PIXELS];
    pdl_as_comments::pdl_launch_dependents();
    const unsigned lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, channels = unsigned(p.channels),
                   run = unsigned(p.width.kernel) * channels, pieces = (run + LANES - 1) / LANES,
                   all = pieces * unsigned(p.height.kernel);
    const unsigned sharing = all >= GR_CONV_FEW_PIECES_OF_8 ? 8 : 4; // warps of a pixel
    const unsigned count = ALL_PIXELS / sharing, group = warp / sharing;
    if (threadIdx.x < count)
        pixels[threadIdx.x] = run_pixel(p, blockIdx.x * count + threadIdx.x);
    __syncthreads();
    pdl_as_comments::pdl_wait();
    const T *from[PIXELS];
    unsigned begin[PIXELS], length[PIXELS];
#pragma unroll
    for (int i = 0; i < PIXELS; ++i) {
        from[i] = reinterpret_cast<const T *>(p.x) + pixels[group * PIXELS + i].of_x;
        begin[i] = pixels[group * PIXELS + i].begin;
    }
    const T *w = reinterpret_cast<const T *>(p.w);
    float sums[LANES] = {}; // of filter i % FILTERS and pixel i / FILTERS
    unsigned row = 0, piece = warp % sharing;
    while (true) {
        for (; piece >= pieces; ++row)
            piece -= pieces;
        if (row >= unsigned(p.height.kernel))
            break;
        const unsigned down = row * unsigned(p.height.dilation);
        const T *filters = w + int64_t(row) * p.of_w.row;
        const int64_t of_row = int64_t(down) * p.of_x.row;
#pragma unroll
        for (int i = 0; i < PIXELS; ++i) {
            const RunPixel &pixel = pixels[group * PIXELS + i];
            length[i] = unsigned(pixel.top) + down < unsigned(p.height.size) ? pixel.length : 0;
        }
#pragma unroll 1
        for (; piece < pieces; piece += sharing) {
            const unsigned at = piece * LANES + lane;
            Element<T> x[PIXELS], weights[FILTERS];
#pragma unroll
            for (int i = 0; i < PIXELS; ++i)
                x[i] = load_if(at - begin[i] < length[i], element(from[i] + (of_row + at)));
#pragma unroll
            for (int f = 0; f < FILTERS; ++f)
                weights[f] = load_if((at < run) & (f < unsigned(p.filters)),
                                     element(filters + (f * p.of_w.outer + at)));
#pragma unroll
            for (int i = 0; i < LANES; ++i)
                sums[i] = fmaf(Accumulator<T>::of(x[i / FILTERS].at),
                               Accumulator<T>::of(weights[i % FILTERS].at), sums[i]);
        }
    }
    parts[warp][lane] = sum_for_lane(sums);
    __syncthreads();
    const unsigned filter = lane % FILTERS;
    const int64_t to = pixels[group * PIXELS + lane / FILTERS].of_out;
    if (warp % sharing > 0 || filter >= unsigned(p.filters) || to < 0)
        return;
    float sum = parts[warp][lane];
    for (unsigned i = 1; i < sharing; ++i)
        sum += parts[warp + i][lane];
    reinterpret_cast<T *>(p.out)[to + filter] = Accumulator<T>::back(sum);
}

// NCHW: lanes have neighbouring pixels, and each warp an equal part of k, tap by tap. The elements of the
// filters of up to 32 channels are in shared memory, those of a channel next to each other.
template <class T, int FILTERS> __device__ void along_pixels(const gr_conv_params &p) {
    enum { PIXELS = FILTERS > 8 ? 2 : 4, RESULTS = PIXELS * FILTERS };
    __shared__ union {
        alignas(16) float weights[WARPS][LANES][FILTERS];
        float parts[WARPS][RESULTS][LANES];
    } shared;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const unsigned lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, channels = unsigned(p.channels),
                   columns = unsigned(p.width.kernel), k = unsigned(p.height.kernel) * columns * channels,
                   filters = unsigned(p.filters), group = blockIdx.y;
    const T *w = reinterpret_cast<const T *>(p.w) + int64_t(group * filters) * p.of_w.outer;
    const T *from[PIXELS];
    unsigned top[PIXELS], left[PIXELS];
#pragma unroll
    for (int i = 0; i < PIXELS; ++i) {
        const Pixel pixel = pixel_of(p, (blockIdx.x * PIXELS + i) * LANES + lane);
        from[i] = first_element<T>(p, pixel, group * channels);
        top[i] = unsigned(pixel.top);
        left[i] = pixel.there ? unsigned(pixel.left) : 0x7fffffff; // a column that no image has
    }
    float sums[FILTERS][PIXELS] = {};
    const unsigned part = (k + WARPS - 1) / WARPS, begin = min(warp * part, k), end = min(begin + part, k);
    unsigned tap = begin / channels, channel = begin % channels;
#pragma unroll 1
    for (unsigned at = begin; at < end;) {
        const unsigned row = tap / columns, column = tap % columns, down = row * unsigned(p.height.dilation),
                       along = column * unsigned(p.width.dilation),
                       count = min(min(channels - channel, end - at), unsigned(LANES));
        __syncwarp(); // the channels before are no longer read
        if (lane < count) {
            const T *weight = w + conv_offset(p.of_w, 0, row, column, channel + lane);
#pragma unroll
            for (int f = 0; f < FILTERS; ++f, weight += p.of_w.outer)
                shared.weights[warp][lane][f] = f < filters ? Accumulator<T>::of(*weight) : 0;
        }
        __syncwarp();
        int of_x = int(conv_offset(p.of_x, 0, down, along, channel));
        bool inside[PIXELS];
#pragma unroll
        for (int i = 0; i < PIXELS; ++i)
            inside[i] =
                (top[i] + down < unsigned(p.height.size)) & (left[i] + along < unsigned(p.width.size));
#pragma unroll 4
        for (unsigned c = 0; c < count; ++c, of_x += int(p.of_x.channel)) {
            Element<T> x[PIXELS];
#pragma unroll
            for (int i = 0; i < PIXELS; ++i)
                x[i] = load_if(inside[i], element(from[i] + of_x));
#pragma unroll
            for (int f = 0; f < FILTERS; f += 4) {
                const float4 four = *reinterpret_cast<const float4 *>(&shared.weights[warp][c][f]);
                const float weights[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
                for (int v = 0; v < 4; ++v)
#pragma unroll
                    for (int i = 0; i < PIXELS; ++i)
                        sums[f + v][i] = fmaf(Accumulator<T>::of(x[i].at), weights[v], sums[f + v][i]);
            }
        }
        at += count;
        channel += count;
        if (channel == channels) {
            channel = 0;
            ++tap;
        }
    }
    __syncthreads();
#pragma unroll
    for (int f = 0; f < FILTERS; ++f)
#pragma unroll
        for (int i = 0; i < PIXELS; ++i)
            shared.parts[warp][i * FILTERS + f][lane] = sums[f][i];
    __syncthreads();
#pragma unroll 1
    for (unsigned result = warp; result < RESULTS; result += WARPS) {
        const unsigned filter = result % FILTERS;
        const Pixel pixel = pixel_of(p, (blockIdx.x * PIXELS + result / FILTERS) * LANES + lane);
        if (filter >= filters || !pixel.there)
            continue;
        float sum = shared.parts[0][result][lane];
#pragma unroll
        for (int i = 1; i < WARPS; ++i)
            sum += shared.parts[i][result][lane];
        reinterpret_cast<T *>(
            p.out)[conv_offset(p.of_out, pixel.image, pixel.down, pixel.along, group * filters + filter)] =
            Accumulator<T>::back(sum);
    }
}

#define GR_FILTERS(bounds, suffix, T, layout, form, FILTERS)                                                 \
    GR_ENTRY(bounds, conv_few_##suffix##_##layout##_##FILTERS, __grid_constant__ gr_conv_params,             \
             form<T, FILTERS>)
#define GR_FEW(suffix, T)                                                                                    \
    GR_FILTERS((THREADS), suffix, T, nhwc, along_channels, 4)                                                \
    GR_FILTERS((THREADS), suffix, T, nhwc, along_channels, 8)                                                \
    GR_FILTERS((THREADS, 2), suffix, T, nchw, along_pixels, 4)                                               \
    GR_FILTERS((THREADS, 2), suffix, T, nchw, along_pixels, 8)                                               \
    GR_FILTERS((THREADS, 2), suffix, T, nchw, along_pixels, 16)

GR_FEW(f32, float)
GR_FEW(f16, gr_f16)
GR_FEW(bf16, gr_bf16)
