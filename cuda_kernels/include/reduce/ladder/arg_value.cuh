// The partial result of argmin and argmax: an element and its position.
#pragma once

#include "reduce/ladder/ops.cuh"

namespace gr::reduce::ladder {

// 16 bytes for every dtype, the position first: the host reads the position of the last one. Padding has a
// name, or it would be copied byte by byte.
template <class T, unsigned = sizeof(T)> struct ArgValue {
    int64_t position;
    T value;
};
template <class T> struct ArgValue<T, 4> {
    int64_t position;
    T value;
    uint32_t padding;
};

// The partial result of one element, given its position. An ArgValue is a partial result already.
template <class Acc> struct Partial {
    template <class In> static __device__ Acc of(In x, uint64_t) {
        return x;
    }
};
template <class T> struct Partial<ArgValue<T>> {
    static __device__ ArgValue<T> of(T x, uint64_t position) {
        return {int64_t(position), x};
    }
    static __device__ ArgValue<T> of(ArgValue<T> x, uint64_t) {
        return x;
    }
};

// NaN propagates, as in NumPy, and of equal values the one that comes first, in whatever order the parts
// meet. The operators on truth values are those without branches.
template <class Acc, bool Largest> struct Extreme;
template <class T, bool Largest> struct Extreme<ArgValue<T>, Largest> {
    // What every element wins over: what no value is beyond, behind all positions.
    static __device__ ArgValue<T> identity() {
        return {INT64_MAX, Largest ? Limits<T>::lowest : Limits<T>::largest};
    }
    static __device__ ArgValue<T> combine(ArgValue<T> a, ArgValue<T> b) {
        const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
        const bool beyond = Largest ? b.value > a.value : b.value < a.value;
        const bool equal = (a.value == b.value) | (a_is_nan & b_is_nan);
        return beyond | (b_is_nan & !a_is_nan) | (equal & (b.position < a.position)) ? b : a;
    }
};
template <class Acc> struct ArgMin : Extreme<Acc, false> {};
template <class Acc> struct ArgMax : Extreme<Acc, true> {};

} // namespace gr::reduce::ladder
