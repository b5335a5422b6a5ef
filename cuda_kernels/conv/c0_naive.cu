// c0: naive, a thread a result.
//
// Neighbouring threads take results that lie side by side: filters of a pixel in NHWC, pixels of a row in
// NCHW. So the warp stores side by side, and what its lanes load is the same element, or neighbours. What
// limits it: two loads for each multiply-add. Every element of x is asked for again by each tap that meets it
// and by each filter, every element of w by each pixel. Where it shows: bytes a multiply-add, which stay 8,
// and instructions that are no multiply-adds: most.
#include "conv.cuh"

enum { THREADS = 256 };

// The sum of products of one result.
template <class T>
__device__ T conv(const gr_conv_params &p, uint64_t image, uint64_t y, uint64_t x, uint64_t filter) {
    typedef typename Wide<T>::type W;
    const T *from =
        reinterpret_cast<const T *>(p.x) + conv_offset(p.of_x, image, 0, 0, filter / p.filters * p.channels);
    const T *taps = reinterpret_cast<const T *>(p.w) + int64_t(filter) * p.of_w.outer;
    W sum = 0;
    for (uint64_t i = 0; i < p.down.kernel; ++i) {
        const uint64_t row = conv_tap(p.down, y, i);
        if (row >= p.down.size)
            continue;
        for (uint64_t j = 0; j < p.along.kernel; ++j) {
            const uint64_t column = conv_tap(p.along, x, j);
            if (column >= p.along.size)
                continue;
            const T *a = from + conv_offset(p.of_x, 0, row, column, 0);
            const T *b = taps + conv_offset(p.of_w, 0, i, j, 0);
            for (uint64_t c = 0; c < p.channels; ++c, a += p.of_x.channel, b += p.of_w.channel)
                sum = multiply_add(Wide<T>::of(*a), Wide<T>::of(*b), sum);
        }
    }
    return Wide<T>::back(sum);
}

// Results are numbered in the order in which they lie.
template <class T, bool FILTERS_LAST> __device__ void conv_result(const gr_conv_params &p) {
    const uint64_t number = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    const uint64_t filters = p.groups * p.filters;
    if (number >= p.batch * p.down.out * p.along.out * filters)
        return;
    uint64_t rest = number, filter = 0;
    if (FILTERS_LAST) {
        filter = rest % filters;
        rest /= filters;
    }
    const uint64_t x = rest % p.along.out;
    rest /= p.along.out;
    const uint64_t y = rest % p.down.out;
    rest /= p.down.out;
    if (!FILTERS_LAST) {
        filter = rest % filters;
        rest /= filters;
    }
    reinterpret_cast<T *>(p.out)[number] = conv<T>(p, rest, y, x, filter);
}

#define GR_CONV(suffix, T)                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        c0_##suffix##_nhwc(const __grid_constant__ gr_conv_params p) {                                       \
        conv_result<T, true>(p);                                                                             \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        c0_##suffix##_nchw(const __grid_constant__ gr_conv_params p) {                                       \
        conv_result<T, false>(p);                                                                            \
    }

GR_CONV(f32, float)
GR_CONV(f64, double)
GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
