// convert: elements of any layout in another dtype, in C order. Each element is widened to a 64-bit integer
// or a double and then narrowed: one kernel for all pairs of dtypes, which differ in branches that are
// uniform over threads and taken once for several elements.
#include "common/element_types.cuh"
#include "common/vec.cuh"
#include "reduce/general/copied.cuh"

using namespace gr::reduce;

enum Dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) DTYPE_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

enum Kind { UNSIGNED, SIGNED, FLOATING };

struct Wide {
    uint64_t bits; // of an integer of 64 bits, or of a double
    double im;
};

__device__ double as_double(const Wide &wide) {
    return __longlong_as_double((long long)wide.bits);
}

template <class T> constexpr Kind KIND = T(-1) < T(0) ? SIGNED : UNSIGNED;
template <> constexpr Kind KIND<gr_bool> = UNSIGNED;
template <> constexpr Kind KIND<double> = FLOATING;
template <> constexpr Kind KIND<float> = FLOATING;
template <> constexpr Kind KIND<gr_f16> = FLOATING;
template <> constexpr Kind KIND<gr_bf16> = FLOATING;
template <> constexpr Kind KIND<gr_c128> = FLOATING;
template <> constexpr Kind KIND<gr_c64> = FLOATING;

template <class T> __device__ Wide widened(T value) {
    return {uint64_t(value), 0};
}
template <> __device__ Wide widened(gr_bool value) {
    return {value.value != 0, 0};
}
template <> __device__ Wide widened(double value) {
    return {uint64_t(__double_as_longlong(value)), 0};
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
    return {widened(value.re).bits, value.im};
}
template <> __device__ Wide widened(gr_c64 value) {
    return {widened(value.re).bits, value.im};
}

// Integers take the low bits of other integers. Of floats they take the nearest value towards 0 that they
// have, as PTX's cvt.rzi does, and 0 of NaN.
template <class T> struct Narrow {
    static __device__ T of(const Wide &wide, Kind kind) {
        if (kind != FLOATING)
            return T(wide.bits);
        const double value = as_double(wide);
        if (value != value)
            return 0;
        constexpr unsigned bits = 8 * sizeof(T);
        if constexpr (KIND<T> == SIGNED) {
            constexpr int64_t largest = int64_t(~uint64_t(0) >> (65 - bits)), least = -largest - 1;
            const int64_t whole = __double2ll_rz(value);
            return T(whole < least ? least : whole > largest ? largest : whole);
        } else {
            constexpr uint64_t largest = ~uint64_t(0) >> (64 - bits);
            const uint64_t whole = __double2ull_rz(value);
            return T(whole > largest ? largest : whole);
        }
    }
};
template <> struct Narrow<gr_bool> {
    static __device__ gr_bool of(const Wide &wide, Kind kind) {
        return {uint8_t(kind != FLOATING ? wide.bits != 0 : as_double(wide) != 0 || wide.im != 0)};
    }
};
template <> struct Narrow<double> {
    static __device__ double of(const Wide &wide, Kind kind) {
        return kind == FLOATING ? as_double(wide)
               : kind == SIGNED ? double(int64_t(wide.bits))
                                : double(wide.bits);
    }
};
template <> struct Narrow<float> {
    static __device__ float of(const Wide &wide, Kind kind) {
        return kind == FLOATING ? float(as_double(wide))
               : kind == SIGNED ? float(int64_t(wide.bits))
                                : float(wide.bits);
    }
};
template <> struct Narrow<gr_f16> { // integers by way of float, as NumPy's
    static __device__ gr_f16 of(const Wide &wide, Kind kind) {
        return kind == FLOATING ? __double2half(as_double(wide))
                                : __float2half_rn(Narrow<float>::of(wide, kind));
    }
};
template <> struct Narrow<gr_bf16> { // all by way of float, as those of ml_dtypes
    static __device__ gr_bf16 of(const Wide &wide, Kind kind) {
        return __float2bfloat16_rn(Narrow<float>::of(wide, kind));
    }
};
template <> struct Narrow<gr_c128> {
    static __device__ gr_c128 of(const Wide &wide, Kind kind) {
        return {Narrow<double>::of(wide, kind), kind == FLOATING ? wide.im : 0};
    }
};
template <> struct Narrow<gr_c64> {
    static __device__ gr_c64 of(const Wide &wide, Kind kind) {
        return {Narrow<float>::of(wide, kind), kind == FLOATING ? float(wide.im) : 0};
    }
};

template <class T> struct As { using Type = T; };

// What `body` does with elements of a dtype.
template <class Body> __device__ void with_dtype(uint32_t dtype, const Body &body) {
    switch (dtype) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    case DTYPE_##name:                                                                                       \
        body(As<In>());                                                                                      \
        return;
#include "base/dtypes.def"
#undef GR_DTYPE
    }
}

constexpr unsigned EACH = GR_CONVERT_ITEMS_PER_THREAD;

extern "C" __global__ void __launch_bounds__(GR_COPY_THREADS) convert(const gr_convert_params p) {
    const uint64_t block = uint64_t(blockIdx.x) * (EACH * GR_COPY_THREADS) + threadIdx.x;
    uint64_t from[EACH], to[EACH];
    addresses<GR_COPY_THREADS>(p.at, block, from, to);
    Wide wide[EACH];
    Kind kind = UNSIGNED;
    with_dtype(p.from, [&](auto as) {
        using T = typename decltype(as)::Type;
        kind = KIND<T>;
        T loaded[EACH];
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            if (block + i * GR_COPY_THREADS < p.at.count)
                loaded[i] = *reinterpret_cast<const T *>(from[i]);
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            wide[i] = widened(loaded[i]);
    });
    with_dtype(p.to, [&](auto as) {
        using T = typename decltype(as)::Type;
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            if (block + i * GR_COPY_THREADS < p.at.count)
                *reinterpret_cast<T *>(to[i]) = Narrow<T>::of(wide[i], kind);
    });
}

// The same of contiguous elements, in whole vectors.
extern "C" __global__ void __launch_bounds__(GR_COPY_THREADS) convert_vectors(const gr_convert_params p) {
    const uint64_t at = uint64_t(blockIdx.x) * GR_COPY_THREADS + threadIdx.x;
    if (at >= p.at.count / EACH)
        return;
    Wide wide[EACH];
    Kind kind = UNSIGNED;
    with_dtype(p.from, [&](auto as) {
        using T = typename decltype(as)::Type;
        kind = KIND<T>;
        const Vec<T, EACH> loaded = reinterpret_cast<const Vec<T, EACH> *>(p.at.in)[at];
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            wide[i] = widened(loaded.at[i]);
    });
    with_dtype(p.to, [&](auto as) {
        using T = typename decltype(as)::Type;
        Vec<T, EACH> made;
#pragma unroll
        for (unsigned i = 0; i < EACH; ++i)
            made.at[i] = Narrow<T>::of(wide[i], kind);
        reinterpret_cast<Vec<T, EACH> *>(p.at.out)[at] = made;
    });
}
