// cub: cub::DeviceReduce, the reduction of NVIDIA's CUB, for comparison with the ladder.
//
// It is what a program gets that calls the library and writes no kernel. CUB launches its own kernels: one
// for up to a tile of elements, else two; a thread processes 16 elements of 4 bytes per tile, by loads of
// four. Its host code is needed, too, so this file becomes a shared library (GPUREDUCE_CUB=1 in the
// environment of the installation) with a function for each operator and dtype. The caller allocates
// temporary memory: with a null address a function only returns the number of bytes.
//
// The results are NumPy's. CUB's own minimum and maximum ignore NaNs, so they get an operator of this
// package, and its ArgMin and ArgMax see elements that compare as in NumPy. Sums are CUB's, those of int32 in
// int64.
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <limits>

#include "common/element_types.cuh"
#include "reduce/ops.def"

using namespace gr::common;

// An element in NumPy's order: NaN precedes everything, and two of them are equal.
template <class T, bool Largest> struct Ordered {
    T value;
    __device__ bool is_nan() const {
        return value != value;
    }
    __device__ bool wins(Ordered other) const {
        const bool beyond = Largest ? value > other.value : value < other.value;
        return beyond | (is_nan() & !other.is_nan());
    }
    // The comparisons of CUB's ArgMax, its ArgMin, and both.
    __device__ bool operator>(Ordered other) const {
        return wins(other);
    }
    __device__ bool operator<(Ordered other) const {
        return wins(other);
    }
    __device__ bool operator==(Ordered other) const {
        return (value == other.value) | (is_nan() & other.is_nan());
    }
};

template <class T, bool Largest> struct Winner {
    __device__ T operator()(T a, T b) const {
        return Ordered<T, Largest>{b}.wins({a}) ? b : a;
    }
    // What no element is beyond.
    static T identity() {
        using Limits = std::numeric_limits<T>;
        if (Limits::has_infinity)
            return Largest ? -Limits::infinity() : Limits::infinity();
        return Largest ? Limits::lowest() : Limits::max();
    }
};

// What the host reads of argmin and argmax; it is reduce/ladder/arg_value.cuh's ArgValue.
template <class T, bool Largest> struct ArgValue {
    int64_t position;
    Ordered<T, Largest> value;
};

struct Call {
    void *memory; // null: only set *bytes
    size_t *bytes;
    const void *in;
    void *out;
    cudaStream_t stream;
};

// The operators of ops.def.
template <class In, class Acc> struct Sum {
    template <class Count> static cudaError_t run(const Call &call, Count n) {
        return cub::DeviceReduce::Sum(call.memory, *call.bytes, static_cast<const In *>(call.in),
                                      static_cast<Acc *>(call.out), n, call.stream);
    }
};

template <class In, bool Largest> struct Extreme {
    template <class Count> static cudaError_t run(const Call &call, Count n) {
        using Op = Winner<In, Largest>;
        return cub::DeviceReduce::Reduce(call.memory, *call.bytes, static_cast<const In *>(call.in),
                                         static_cast<In *>(call.out), n, Op(), Op::identity(), call.stream);
    }
};
template <class In, class Acc> struct Min : Extreme<In, false> {};
template <class In, class Acc> struct Max : Extreme<In, true> {};

template <class In, class Acc> struct ArgMin {
    static cudaError_t run(const Call &call, int64_t n) {
        auto *place = static_cast<ArgValue<In, false> *>(call.out);
        return cub::DeviceReduce::ArgMin(call.memory, *call.bytes,
                                         static_cast<const Ordered<In, false> *>(call.in), &place->value,
                                         &place->position, n, call.stream);
    }
};
template <class In, class Acc> struct ArgMax {
    static cudaError_t run(const Call &call, int64_t n) {
        auto *place = static_cast<ArgValue<In, true> *>(call.out);
        return cub::DeviceReduce::ArgMax(call.memory, *call.bytes,
                                         static_cast<const Ordered<In, true> *>(call.in), &place->value,
                                         &place->position, n, call.stream);
    }
};

// CUB indexes with the type of n. Most callers have an int, so it gets one where n allows.
template <class Reduction> int run(const Call &call, uint64_t n) {
    cudaError_t result = cudaErrorUnknown;
    try {
        result = n <= INT32_MAX ? Reduction::run(call, int32_t(n)) : Reduction::run(call, int64_t(n));
    } catch (...) { // not through C
    }
    if (result != cudaSuccess)
        cudaGetLastError(); // or the next call would report it again
    return result;
}

#define GR_EXPORT extern "C" __attribute__((visibility("default")))

// gr_library_function of csrc/device/backend.h, for each row of the set LIBRARY and each dtype of scope
// LADDER.
#define GR_FUNCTION_NO(op, Op, dtype, In, Acc)
#define GR_FUNCTION_YES(op, Op, dtype, In, Acc)                                                              \
    GR_EXPORT int cub_##op##_##dtype(uint64_t memory, size_t *bytes, uint64_t in, uint64_t out, uint64_t n,  \
                                     void *stream) {                                                         \
        return run<Op<In, Acc>>({reinterpret_cast<void *>(memory), bytes, reinterpret_cast<void *>(in),      \
                                 reinterpret_cast<void *>(out), static_cast<cudaStream_t>(stream)},          \
                                n);                                                                          \
    }
#define GR_OP_ROW(op, Op, takes, result, identity, tree, addition, library, file, packed, state, traits,     \
                  dtype, In, Acc)                                                                            \
    GR_FUNCTION_##library(op, Op, dtype, In, Acc)
#define GR_DTYPE_LADDER(dtype, In, Acc) GR_OPS(GR_OP_ROW, dtype, In, Acc)
#define GR_DTYPE_GENERAL(dtype, In, Acc)
#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_DTYPE_##scope(dtype, In, Acc)
#include "base/dtypes.def"
#undef GR_DTYPE

GR_EXPORT const char *cub_describe(int code) {
    return cudaGetErrorString(static_cast<cudaError_t>(code));
}
