// c0: naive, one thread per result.
//
// In NCHW, neighbouring threads compute neighbouring pixels of a row. In NHWC, a warp computes eight pixels
// and four filters: with the filters of one pixel, each load from w would access 32 cache lines. What limits
// it: two loads per multiply-add. Every element of x is loaded again for each tap and each filter that uses
// it, every element of w for each pixel. Where it shows: bytes per multiply-add, which stay 8, and
// instructions other than multiply-adds: most of them.
#include "common/entry.cuh"
#include "conv/conv.cuh"

using namespace gr::conv;

enum { THREADS = row_c0.threads, PIXELS = GR_CONV_NAIVE_PIXELS, FILTERS = GR_CONV_NAIVE_FILTERS };

// The sum of products of one result; TOGETHER: its channels lie one behind the other, of x and of w. Places
// go on by steps that all threads share.
template <class T, bool TOGETHER>
__device__ T conv(const gr_conv_params &p, uint64_t image, uint64_t y, uint64_t x, uint64_t filter) {
    typedef typename Accumulator<T>::type W;
    const int64_t step_of_x = TOGETHER ? 1 : p.of_x.channel, step_of_w = TOGETHER ? 1 : p.of_w.channel;
    const int64_t down = int64_t(p.height.dilation) * p.of_x.row,
                  along = int64_t(p.width.dilation) * p.of_x.column;
    const uint64_t top = conv_tap(p.height, y, 0), left = conv_tap(p.width, x, 0); // which x may not have
    const T *line = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, top, left, filter / p.filters * p.channels);
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sum = 0;
    for (uint64_t i = 0, row = top; i < p.height.kernel; ++i) {
        if (row < p.height.size) {
            const T *seen = line, *tap = taps;
            for (uint64_t j = 0, column = left; j < p.width.kernel; ++j) {
                const T *a = seen, *b = tap;
                if (column < p.width.size)
#pragma unroll 4
                    for (uint64_t c = 0; c < p.channels; ++c, a += step_of_x, b += step_of_w)
                        sum = multiply_add(Accumulator<T>::of(*a), Accumulator<T>::of(*b), sum);
                seen += along;
                tap += p.of_w.column;
                column += p.width.dilation;
            }
        }
        line += down;
        taps += p.of_w.row;
        row += p.height.dilation;
    }
    return Accumulator<T>::back(sum);
}

template <class T, bool TOGETHER>
__device__ void conv_pixel(const gr_conv_params &p, uint64_t pixel, uint64_t filter) {
    const uint64_t x = pixel % p.width.out, row = pixel / p.width.out;
    const uint64_t y = row % p.height.out, image = row / p.height.out;
    if (image < p.batch && filter < p.groups * p.filters)
        reinterpret_cast<T *>(p.out)[conv_offset(p.of_out, image, y, x, filter)] =
            conv<T, TOGETHER>(p, image, y, x, filter);
}

template <class T> __device__ void nhwc(const gr_conv_params &p) {
    const uint64_t number = uint64_t(blockIdx.x) * THREADS + threadIdx.x, rest = number / (PIXELS * FILTERS);
    const uint64_t parts = (p.groups * p.filters + FILTERS - 1) / FILTERS;
    const uint64_t pixel = rest / parts * PIXELS + number / FILTERS % PIXELS;
    const uint64_t filter = rest % parts * FILTERS + number % FILTERS;
    if (p.of_x.channel == 1 && p.of_w.channel == 1)
        conv_pixel<T, true>(p, pixel, filter);
    else
        conv_pixel<T, false>(p, pixel, filter);
}

// Results are numbered in the order in which they lie.
template <class T> __device__ void nchw(const gr_conv_params &p) {
    const uint64_t number = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    const uint64_t filters = p.groups * p.filters, pixels = p.height.out * p.width.out,
                   plane = number / pixels;
    conv_pixel<T, false>(p, plane / filters * pixels + number % pixels, plane % filters);
}

#define GR_CONV(suffix, T)                                                                                   \
    GR_ENTRY((THREADS), c0_##suffix##_nhwc, __grid_constant__ gr_conv_params, nhwc<T>)                       \
    GR_ENTRY((THREADS), c0_##suffix##_nchw, __grid_constant__ gr_conv_params, nchw<T>)

GR_CONV(f32, float)
GR_CONV(f64, double)
GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
