// convert: elements of any layout in another dtype, in C order. What is read becomes wide, an integer of 64
// bits or two doubles, and what is written is made of that: one kernel for all pairs of dtypes, which differ
// in a branch that all threads take alike.
#include "element_types.cuh"
#include "reduce/convert/params.h"

enum Dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope) DTYPE_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

struct Wide {
    bool is_whole, is_signed;
    uint64_t whole;
    double re, im;
};

template <class T> __device__ Wide widened(T value) {
    return {true, T(-1) < T(0), uint64_t(value), 0, 0};
}
template <> __device__ Wide widened(gr_bool value) {
    return {true, false, value.value != 0, 0, 0};
}
template <> __device__ Wide widened(double value) {
    return {false, false, 0, value, 0};
}
template <> __device__ Wide widened(float value) {
    return widened(double(value));
}
template <> __device__ Wide widened(gr_f16 value) {
    return widened(double(__half2float(value)));
}
template <> __device__ Wide widened(gr_bf16 value) {
    return widened(double(__bfloat162float(value)));
}
template <> __device__ Wide widened(gr_c128 value) {
    return {false, false, 0, value.re, value.im};
}
template <> __device__ Wide widened(gr_c64 value) {
    return {false, false, 0, value.re, value.im};
}

// Integers take the low bits of what is whole, and of a negative float, too, as compilers for hosts do.
template <class T> __device__ T narrowed(const Wide &wide) {
    if (wide.is_whole)
        return T(wide.whole);
    return wide.re < 0 ? T(int64_t(wide.re)) : T(uint64_t(wide.re));
}
template <> __device__ gr_bool narrowed(const Wide &wide) {
    return {uint8_t(wide.is_whole ? wide.whole != 0 : wide.re != 0 || wide.im != 0)};
}
template <> __device__ double narrowed(const Wide &wide) {
    return !wide.is_whole ? wide.re : wide.is_signed ? double(int64_t(wide.whole)) : double(wide.whole);
}
template <> __device__ float narrowed(const Wide &wide) {
    return !wide.is_whole ? float(wide.re) : wide.is_signed ? float(int64_t(wide.whole)) : float(wide.whole);
}
template <> __device__ gr_f16 narrowed(const Wide &wide) { // integers by way of float, as NumPy's
    return wide.is_whole ? __float2half_rn(narrowed<float>(wide)) : __double2half(wide.re);
}
template <> __device__ gr_bf16 narrowed(const Wide &wide) { // all by way of float, as those of ml_dtypes
    return __float2bfloat16_rn(narrowed<float>(wide));
}
template <> __device__ gr_c128 narrowed(const Wide &wide) {
    return {narrowed<double>(wide), wide.is_whole ? 0 : wide.im};
}
template <> __device__ gr_c64 narrowed(const Wide &wide) {
    return {narrowed<float>(wide), wide.is_whole ? 0 : float(wide.im)};
}

__device__ Wide read(const gr_convert_params &p, uint64_t address) {
    switch (p.from) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope)                                          \
    case DTYPE_##name:                                                                                       \
        return widened(*reinterpret_cast<const In *>(address));
#include "base/dtypes.def"
#undef GR_DTYPE
    }
    return {};
}

__device__ void write(const gr_convert_params &p, uint64_t at, const Wide &wide) {
    switch (p.to) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope)                                          \
    case DTYPE_##name:                                                                                       \
        reinterpret_cast<In *>(p.out)[at] = narrowed<In>(wide);                                              \
        return;
#include "base/dtypes.def"
#undef GR_DTYPE
    }
}

// Where element number `index` lies.
__device__ uint64_t address_of(const gr_convert_params &p, uint64_t index) {
    uint64_t address = p.in;
#pragma unroll
    for (unsigned d = 0; d < GR_CONVERT_DIMS; ++d) {
        if (d + 1 == GR_CONVERT_DIMS || p.extent[d + 1] == 1)
            return address + index * uint64_t(p.stride[d]);
        const uint64_t rest = index / p.extent[d];
        address += (index - rest * p.extent[d]) * uint64_t(p.stride[d]);
        index = rest;
    }
    return address;
}

extern "C" __global__ void __launch_bounds__(GR_CONVERT_THREADS) convert(const gr_convert_params p) {
    const uint64_t step = uint64_t(gridDim.x) * GR_CONVERT_THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * GR_CONVERT_THREADS + threadIdx.x; i < p.count; i += step)
        write(p, i, read(p, address_of(p, i)));
}
