// c1: im2col in memory, then a matrix multiplication.
//
// What c0 still cost: two loads per multiply-add, of elements that other threads load, too.
// The change: the input elements under the filter are written to memory as one row of a matrix per result
// (im2col). The convolution is then a matrix multiplication, which the best kernel for it computes, with all
// its tiling; that kernel is in another file. What limits it now: for k taps, each element of x is written k
// times, and read again. Where it shows: stored sectors, which in c0 are only those of the results.
//
// An element of the matrix belongs to one pixel and one tap, and its offset in x is the sum of theirs. So a
// block looks up its pixels and its taps once, and adds. In NHWC a row has the taps of a pixel, in NCHW the
// pixels of a tap: neighbouring threads read and write neighbouring elements in both.
#include "common/entry.cuh"
#include "common/vec.cuh"
#include "conv/conv.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_IM2COL_THREADS, AT_ONCE = 4 };
static_assert(row_c1.threads == THREADS);
enum { LENGTH = GR_CONV_IM2COL_MAX_LENGTH, LINES = GR_CONV_IM2COL_MAX_LINES }; // of a block

// A pixel's or a tap's share of where an element lies.
struct Share {
    int64_t offset;
    int y, x;
};

__device__ Share share_of_pixel(const gr_conv_params &p, uint64_t pixel) {
    const int64_t x = int64_t(pixel % p.width.out * p.width.stride) - p.width.padding;
    const int64_t y = int64_t(pixel / p.width.out * p.height.stride) - p.height.padding;
    return {y * p.of_x.row + x * p.of_x.column, int(y), int(x)};
}

__device__ Share share_of_tap(const gr_conv_params &p, uint64_t channel, uint64_t row, uint64_t column) {
    const uint64_t y = row * p.height.dilation, x = column * p.width.dilation;
    return {conv_offset(p.of_x, 0, y, x, channel), int(y), int(x)};
}

// Lines are numbered by pictures, groups and what a line stands for, groups outermost in NHWC.
template <bool NHWC> __device__ Share share_of_line(const gr_conv_params &p, uint64_t line) {
    const uint64_t pixels = p.height.out * p.width.out;
    if (NHWC) {
        const uint64_t group = line / (p.batch * pixels), rest = line % (p.batch * pixels);
        Share share = share_of_pixel(p, rest % pixels);
        share.offset += conv_offset(p.of_x, rest / pixels, 0, 0, group * p.channels);
        return share;
    }
    const uint64_t column = line % p.width.kernel, rest = line / p.width.kernel;
    const uint64_t row = rest % p.height.kernel, channel = rest / p.height.kernel;
    const uint64_t channels = p.groups * p.channels;
    Share share = share_of_tap(p, channel % channels, row, column);
    share.offset += int64_t(channel / channels) * p.of_x.outer;
    return share;
}

template <bool NHWC> __device__ Share share_of_element(const gr_conv_params &p, uint64_t element) {
    if (!NHWC)
        return share_of_pixel(p, element);
    const uint64_t channel = element % p.channels, rest = element / p.channels;
    return share_of_tap(p, channel, rest / p.width.kernel, rest % p.width.kernel);
}

// EACH: neighbouring pixels of a row that a thread takes at once, in NCHW.
template <class T, bool NHWC, int EACH = 1> __device__ void columns(const gr_conv_im2col_params &p) {
    typedef Vec<T, EACH> Some;
    __shared__ Share of_line[LINES], of_element[LENGTH];
    const uint64_t first_line = blockIdx.x * p.lines_per_block, first = uint64_t(blockIdx.y) * LENGTH;
    const unsigned lines = unsigned(min(p.lines_per_block, p.lines - first_line));
    const unsigned length = unsigned(min(uint64_t(LENGTH), p.length - first));
    for (unsigned i = threadIdx.x; i < lines; i += THREADS)
        of_line[i] = share_of_line<NHWC>(p.conv, first_line + i);
    for (unsigned i = threadIdx.x; i < length; i += THREADS)
        of_element[i] = share_of_element<NHWC>(p.conv, (first + i) * EACH);
    __syncthreads();

    const T *from = reinterpret_cast<const T *>(p.conv.x);
    T *to = reinterpret_cast<T *>(p.conv.out) + first_line * p.pitch + first * EACH;
    const unsigned height = unsigned(p.conv.height.size), width = unsigned(p.conv.width.size);
    const int stride = int(p.conv.width.stride);
    const int64_t apart = stride * p.conv.of_x.column;
    const unsigned lines_on = THREADS / length, on = THREADS % length;
    for (unsigned line = threadIdx.x / length, i = threadIdx.x % length; line < lines;) {
        Some some[AT_ONCE] = {}; // all loads come first: the stores might be to where they are from
        T *places[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            places[turn] = line < lines ? to + line * p.pitch + i * EACH : nullptr;
            const Share a = of_line[min(line, lines - 1)], b = of_element[i];
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (line < lines && unsigned(a.y + b.y) < height && unsigned(a.x + b.x + k * stride) < width)
                    some[turn].at[k] = from[a.offset + b.offset + k * apart];
            line += lines_on; // the next of this thread: THREADS further
            i += on;
            if (i >= length) {
                i -= length;
                ++line;
            }
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (places[turn] != nullptr)
                *reinterpret_cast<Some *>(places[turn]) = some[turn];
    }
}

#define GR_COLUMNS(suffix, T)                                                                                \
    GR_ENTRY((THREADS), c1_nhwc_##suffix, __grid_constant__ gr_conv_im2col_params, columns<T, true>)         \
    GR_ENTRY((THREADS), c1_nchw_##suffix, __grid_constant__ gr_conv_im2col_params, columns<T, false>)

GR_ENTRY((THREADS), c1_nchw_b2x4, __grid_constant__ gr_conv_im2col_params, columns<uint16_t, false, 4>)
GR_ENTRY((THREADS), c1_nchw_b4x4, __grid_constant__ gr_conv_im2col_params, columns<uint32_t, false, 4>)
GR_COLUMNS(b2, uint16_t)
GR_COLUMNS(b4, uint32_t)
GR_COLUMNS(b8, uint64_t)
GR_COLUMNS(b16, ulonglong2) // several channels of a pixel at once
