// What is made of two elements of each line, as NumPy does it: every operation is rounded to the dtype of its
// result.
#include <type_traits>

#include "ops/functors.cuh"
#include "order/order.cuh"

using namespace gr::ops;
using namespace gr::order;

template <class T>
constexpr bool is_float = std::is_same<T, float>::value || std::is_same<T, double>::value ||
                          std::is_same<T, gr_f16>::value || std::is_same<T, gr_bf16>::value;
template <class T> constexpr bool is_half = std::is_same<T, gr_f16>::value;
template <class T>
constexpr bool is_complex = std::is_same<T, gr_c64>::value || std::is_same<T, gr_c128>::value;

// What a result is made of. Arrays in the parameters are indexed by constants.
struct Ends {
    unsigned lower = 0, upper = 0;
    double weight = 0, rest = 0;

    __device__ Ends(const gr_order_quantiles &p, uint64_t result) {
#pragma unroll
        for (unsigned j = 0; j < GR_ORDER_MAX_QUANTILES; ++j)
            if (j == result) {
                lower = p.lower[j];
                upper = p.upper[j];
                weight = p.weight[j];
                rest = p.rest[j];
            }
    }

    // Places the quantile `weight` among the valid elements of a line. NumPy counts the last one as the one
    // before the first, which its weight then follows.
    __device__ void place(uint64_t count) {
        const double last = double(count - (count > 0)), position = last * weight;
        weight = position - (position >= last ? -1.0 : floor(position));
        rest = 1.0 - weight;
    }
};

// upper - lower: of integers as a double, since a difference of two of them need not fit their dtype.
template <class T> __device__ auto difference(T lower, T upper) {
    if constexpr (is_float<T>)
        return widen(Narrow<T>::from(widen(upper) - widen(lower)));
    else
        return double(uint64_t(widen(upper)) - uint64_t(widen(lower)));
}

template <class To, class From> __device__ To between(const Ends &ends, From lower, From upper) {
    using Wide = typename std::conditional<is_half<To>, float, To>::type;
    const auto rounded = [](Wide x) { return Wide(widen(Narrow<To>::from(x))); };
    const bool nearer = ends.weight >= 0.5;
    const Wide from = Wide(widen(nearer ? upper : lower)), step = Wide(difference(lower, upper));
    const Wide part = rounded(step * rounded(Wide(nearer ? ends.rest : ends.weight)));
    return Narrow<To>::from(nearer ? from - part : from + part);
}

// NumPy's mean of them, whose sum starts from 0: -0.0 becomes 0.0. `alone`: both are one element.
template <class T> __device__ auto middle(bool alone, T lower, T upper) {
    if constexpr (is_float<T>) {
        const auto first = widen(lower) + 0, sum = first + widen(upper);
        const auto added = is_half<T> ? sum : widen(Narrow<T>::from(sum)); // halves are added in float
        return Narrow<T>::from(alone ? first : added / 2);
    } else {
        const double a = double(widen(lower));
        return alone ? a : (a + double(widen(upper))) / 2;
    }
}

template <class T> __device__ void order_mean(const gr_order_quantiles &p) {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < p.lines * p.results; i += step) {
        const uint64_t result = i / p.lines;
        Ends ends(p, result);
        const uint64_t number = i - result * p.lines;
        const uint64_t *counts = reinterpret_cast<const uint64_t *>(p.counts);
        const bool alone = counts != nullptr ? counts[number] % 2 == 1 : ends.lower == ends.upper;
        if (counts != nullptr && p.mean == GR_ORDER_LINEAR)
            ends.place(counts[number]);
        const T *line = reinterpret_cast<const T *>(p.in) + number * p.ranks;
        const T lower = line[ends.lower], upper = line[ends.upper];
        if (p.mean == GR_ORDER_LOWER)
            reinterpret_cast<T *>(p.out)[i] = lower;
        else if (p.mean == GR_ORDER_MIDPOINT)
            reinterpret_cast<decltype(middle(alone, lower, upper)) *>(p.out)[i] = middle(alone, lower, upper);
        else if (p.to != p.from)
            reinterpret_cast<double *>(p.out)[i] = between<double>(ends, lower, upper);
        else if constexpr (is_float<T>)
            reinterpret_cast<T *>(p.out)[i] = between<T>(ends, lower, upper);
    }
}

enum Dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) DTYPE_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS) order_between(const gr_order_quantiles p) {
    pdl_begin();
    switch (p.from) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    case DTYPE_##name:                                                                                       \
        if constexpr (!is_complex<In>)                                                                       \
            order_mean<In>(p);                                                                               \
        break;
#include "base/dtypes.def"
#undef GR_DTYPE
    }
}
