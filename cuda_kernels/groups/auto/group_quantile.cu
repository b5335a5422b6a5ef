// Quantiles of groups, of elements that are sorted, and whose positions are in the order of their groups.
#include <cstdint>

#include "common/element_types.cuh"
#include "common/entry.cuh"
#include "groups/quantiles/params.h"

using namespace gr::common;

constexpr unsigned threads = GR_GROUP_QUANTILE_THREADS;

__device__ uint64_t first_of_thread() {
    return blockIdx.x * uint64_t(threads) + threadIdx.x;
}
__device__ uint64_t threads_of_grid() {
    return gridDim.x * uint64_t(threads);
}

template <class Label> __device__ void gather_as(const gr_gather_labels_params &p) {
    const auto *indices = reinterpret_cast<const int64_t *>(p.indices);
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        reinterpret_cast<Label *>(p.out)[i] = reinterpret_cast<const Label *>(p.labels)[indices[i]];
}

__device__ void gather_labels(const gr_gather_labels_params &p) {
    if (p.label_bytes == 4)
        gather_as<int32_t>(p);
    else
        gather_as<int64_t>(p);
}

__device__ double widened(double x) {
    return x;
}
__device__ double widened(float x) {
    return double(x);
}
__device__ double widened(gr_f16 x) {
    return double(__half2float(x));
}
__device__ double widened(gr_bf16 x) {
    return double(__bfloat162float(x));
}
template <class T> __device__ T narrowed(double x) {
    return T(x);
}
template <> __device__ gr_f16 narrowed<gr_f16>(double x) {
    return __double2half(x);
}
template <> __device__ gr_bf16 narrowed<gr_bf16>(double x) {
    return __double2bfloat16(x);
}

// Interpolates between two neighbours, from the nearer one. The distance of infinities, and of large numbers
// of unlike signs, is infinite: then, and in the middle, each neighbour has its weight.
__device__ double between(double lower, double upper, double part) {
    if (lower == upper || part == 0)
        return lower;
    const double apart = upper - lower;
    if (part == 0.5 || apart - apart != 0)
        return lower * (1 - part) + upper * part;
    return part < 0.5 ? lower + apart * part : upper - apart * (1 - part);
}

// A group without elements has the quantile NaN, and so has one with a NaN, which is its last element.
template <class T> __device__ void quantiles(const gr_group_quantile_params &p) {
    const auto *sorted = reinterpret_cast<const T *>(p.sorted);
    const auto *offsets = reinterpret_cast<const int64_t *>(p.segments), *positions = offsets + p.groups + 1;
    for (uint64_t group = first_of_thread(); group < p.groups; group += threads_of_grid()) {
        const int64_t begin = offsets[group], count = offsets[group + 1] - begin;
        const auto element = [&](int64_t i) { return widened(sorted[positions[begin + i]]); };
        double result = __longlong_as_double(0x7ff8000000000000ll);
        if (count > 0) {
            const double last = element(count - 1);
            if (last == last) {
                const double at = p.q * double(count - 1);
                const int64_t below = min(int64_t(at), count - 1);
                result = between(element(below), element(min(below + 1, count - 1)), at - double(below));
            }
        }
        reinterpret_cast<T *>(p.out)[group] = narrowed<T>(result);
    }
}

GR_ENTRY((threads), group_gather_labels, gr_gather_labels_params, gather_labels)
GR_ENTRY((threads), group_quantile_f32, gr_group_quantile_params, quantiles<float>)
GR_ENTRY((threads), group_quantile_f64, gr_group_quantile_params, quantiles<double>)
GR_ENTRY((threads), group_quantile_f16, gr_group_quantile_params, quantiles<gr_f16>)
GR_ENTRY((threads), group_quantile_bf16, gr_group_quantile_params, quantiles<gr_bf16>)
