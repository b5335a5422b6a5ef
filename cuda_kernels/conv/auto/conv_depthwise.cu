// Convolutions whose groups have one channel each, as depthwise ones have: no product of matrices is in them,
// and memory limits them. A thread makes EACH results that share taps, so that a tap is loaded once for them:
// in NHWC of neighbouring columns, and of four filters where their elements lie side by side; in NCHW of
// neighbouring rows, its neighbours having the neighbouring columns. What several threads see is found in L1.
#include "conv.cuh"

enum { THREADS = GR_CONV_DEPTHWISE_THREADS, EACH = GR_CONV_DEPTHWISE_EACH };

// As conv_tap, of sizes for which 32 bits are enough, as the planner sees to.
__device__ unsigned tap_of(const gr_conv_axis &axis, unsigned result, unsigned tap) {
    return result * unsigned(axis.stride) + tap * unsigned(axis.dilation) - unsigned(axis.padding);
}

template <class T, int LENGTH> struct alignas(sizeof(T) * LENGTH) Elements { T element[LENGTH]; };

// The results of EACH columns of a row, and of LENGTH filters from number `filter` on.
template <class T, int LENGTH>
__device__ void along_a_row(const gr_conv_params &p, uint64_t image, unsigned y, unsigned first,
                            unsigned filter) {
    typedef typename Wide<T>::type W;
    typedef Elements<T, LENGTH> Pack;
    const T *from = reinterpret_cast<const T *>(p.x) +
                    conv_offset(p.of_x, image, 0, 0, LENGTH > 1 ? filter : filter / unsigned(p.filters));
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[EACH][LENGTH] = {};
    for (unsigned i = 0; i < unsigned(p.down.kernel); ++i) {
        const unsigned row = tap_of(p.down, y, i);
        if (row >= unsigned(p.down.size))
            continue;
        const T *line = from + row * p.of_x.down, *weight = taps + i * p.of_w.down;
        unsigned column = tap_of(p.along, first, 0);
        for (unsigned j = 0; j < unsigned(p.along.kernel);
             ++j, column += unsigned(p.along.dilation), weight += p.of_w.along) {
            W weights[LENGTH];
#pragma unroll
            for (int v = 0; v < LENGTH; ++v)
                weights[v] = Wide<T>::of(weight[v * p.of_w.outer]);
#pragma unroll
            for (int r = 0; r < EACH; ++r) {
                const unsigned at = column + r * unsigned(p.along.stride);
                if (at >= unsigned(p.along.size))
                    continue;
                const Pack seen = *reinterpret_cast<const Pack *>(line + at * p.of_x.along);
#pragma unroll
                for (int v = 0; v < LENGTH; ++v)
                    sums[r][v] = multiply_add(Wide<T>::of(seen.element[v]), weights[v], sums[r][v]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        if (first + r >= p.along.out)
            return;
        Pack results;
#pragma unroll
        for (int v = 0; v < LENGTH; ++v)
            results.element[v] = Wide<T>::back(sums[r][v]);
        *reinterpret_cast<Pack *>(reinterpret_cast<T *>(p.out) +
                                  conv_offset(p.of_out, image, y, first + r, filter)) = results;
    }
}

// The results of EACH rows of a column.
template <class T>
__device__ void down_a_column(const gr_conv_params &p, uint64_t image, unsigned first, unsigned x,
                              unsigned filter) {
    typedef typename Wide<T>::type W;
    const T *from =
        reinterpret_cast<const T *>(p.x) + conv_offset(p.of_x, image, 0, 0, filter / unsigned(p.filters));
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sums[EACH] = {};
    for (unsigned j = 0; j < unsigned(p.along.kernel); ++j) {
        const unsigned column = tap_of(p.along, x, j);
        if (column >= unsigned(p.along.size))
            continue;
        const T *line = from + column * p.of_x.along, *weight = taps + j * p.of_w.along;
        unsigned row = tap_of(p.down, first, 0);
        for (unsigned i = 0; i < unsigned(p.down.kernel);
             ++i, row += unsigned(p.down.dilation), weight += p.of_w.down) {
            const W factor = Wide<T>::of(*weight);
#pragma unroll
            for (int r = 0; r < EACH; ++r) {
                const unsigned at = row + r * unsigned(p.down.stride);
                if (at < unsigned(p.down.size))
                    sums[r] = multiply_add(Wide<T>::of(line[at * p.of_x.down]), factor, sums[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r)
        if (first + r < p.down.out)
            reinterpret_cast<T *>(p.out)[conv_offset(p.of_out, image, first + r, x, filter)] =
                Wide<T>::back(sums[r]);
}

// Threads are numbered as their results lie.
template <class T, int LENGTH> __device__ void nhwc(const gr_conv_params &p) {
    const unsigned filters = unsigned(p.groups * p.filters) / LENGTH;
    const unsigned across = (unsigned(p.along.out) + EACH - 1) / EACH, down = unsigned(p.down.out);
    const unsigned number = blockIdx.x * THREADS + threadIdx.x, pixel = number / filters;
    const unsigned row = pixel / across, image = row / down;
    if (image < p.batch)
        along_a_row<T, LENGTH>(p, image, row % down, pixel % across * EACH, number % filters * LENGTH);
}

template <class T> __device__ void nchw(const gr_conv_params &p) {
    const unsigned filters = unsigned(p.groups * p.filters);
    const unsigned across = unsigned(p.along.out), down = (unsigned(p.down.out) + EACH - 1) / EACH;
    const unsigned number = blockIdx.x * THREADS + threadIdx.x, row = number / across;
    const unsigned channel = row / down, image = channel / filters;
    if (image < p.batch)
        down_a_column<T>(p, image, row % down * EACH, number % across, channel % filters);
}

#define GR_DEPTHWISE(suffix, T)                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        conv_depthwise_##suffix##_nhwc(const __grid_constant__ gr_conv_params p) {                           \
        nhwc<T, 1>(p);                                                                                       \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        conv_depthwise_##suffix##_nhwc4(const __grid_constant__ gr_conv_params p) {                          \
        nhwc<T, 4>(p);                                                                                       \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        conv_depthwise_##suffix##_nchw(const __grid_constant__ gr_conv_params p) {                           \
        nchw<T>(p);                                                                                          \
    }

GR_DEPTHWISE(f32, float)
GR_DEPTHWISE(f64, double)
GR_DEPTHWISE(f16, gr_f16)
GR_DEPTHWISE(bf16, gr_bf16)
