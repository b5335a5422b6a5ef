// Adds a bias per filter to the results of a convolution, in place. Memory limits it: a thread loads and
// stores 16 bytes, and divides once to find the filter of its first element. The sum is computed in the dtype
// of the convolution's accumulators and rounded to the dtype of the results.
#include "common/entry.cuh"
#include "common/vec.cuh"
#include "conv/conv.cuh"

using namespace gr::conv;

enum { THREADS = GR_CONV_BIAS_THREADS };

template <class T, int LENGTH> __device__ void add_bias(const gr_conv_bias_params &p) {
    typedef Vec<T, LENGTH> Elements;
    const T *bias = reinterpret_cast<const T *>(p.bias);
    const uint64_t first = (uint64_t(blockIdx.x) * THREADS + threadIdx.x) * LENGTH;
    if (first >= p.count)
        return;
    T *to = reinterpret_cast<T *>(p.out) + first;
    const bool whole = first + LENGTH <= p.count;
    const uint64_t run = first / p.run;
    uint64_t in_run = first - run * p.run, filter = run % p.filters;
    Elements v;
    if (whole)
        v = *reinterpret_cast<const Elements *>(to);
#pragma unroll
    for (int i = 0; i < LENGTH; ++i) {
        if (whole || first + i < p.count) {
            const T element = whole ? v.at[i] : to[i];
            const T sum = Accumulator<T>::back(Accumulator<T>::of(element) +
                                               Accumulator<T>::of(bias[int64_t(filter) * p.stride]));
            if (whole)
                v.at[i] = sum;
            else
                to[i] = sum;
        }
        if (++in_run == p.run) {
            in_run = 0;
            if (++filter == p.filters)
                filter = 0;
        }
    }
    if (whole)
        *reinterpret_cast<Elements *>(to) = v;
}

#define GR_BIAS(suffix, T)                                                                                   \
    GR_ENTRY((THREADS), conv_bias_##suffix##_vec16, gr_conv_bias_params, add_bias<T, 16 / sizeof(T)>)        \
    GR_ENTRY((THREADS), conv_bias_##suffix##_scalar, gr_conv_bias_params, add_bias<T, 1>)

GR_BIAS(f32, float)
GR_BIAS(f64, double)
GR_BIAS(f16, gr_f16)
GR_BIAS(bf16, gr_bf16)
