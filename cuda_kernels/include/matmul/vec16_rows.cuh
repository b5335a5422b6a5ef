// Neighbours in a row of a matrix as one load or store, from m5 on.
#pragma once

#include <cstdint>

#include "common/vec.cuh"

namespace gr::matmul {

using namespace common;

template <class T> struct alignas(16) Vec16 {
    static constexpr int LENGTH = 16 / sizeof(T);
    T element[LENGTH];
};

// Neighbours in registers as one vector.
template <class T> __device__ Vec16<T> vec16_of(const T *elements) {
    Vec16<T> v;
#pragma unroll
    for (int i = 0; i < Vec16<T>::LENGTH; ++i)
        v.element[i] = elements[i];
    return v;
}

// Whether every row of a matrix begins on a boundary of 16 bytes: the same for all threads.
template <class T> __device__ bool rows_aligned(const T *matrix, int64_t from_row_to_row) {
    return reinterpret_cast<uint64_t>(matrix) % 16 == 0 && from_row_to_row % Vec16<T>::LENGTH == 0;
}

// To the elements of a row from `at` on, as far as there are any.
template <class T>
__device__ void store_vec16(T *row, uint64_t at, uint64_t end, bool aligned, const Vec16<T> &v) {
    if (aligned && at + Vec16<T>::LENGTH <= end) {
        *reinterpret_cast<Vec16<T> *>(row + at) = v;
        return;
    }
#pragma unroll
    for (int i = 0; i < Vec16<T>::LENGTH; ++i)
        if (at + i < end)
            row[at + i] = v.element[i];
}

// Stores the elements number `at` and `at` + 1 of a row of `length`, in one instruction where `aligned`.
template <class T>
__device__ void store_pair(T *to, bool aligned, uint64_t at, const uint64_t &length, T first, T second) {
    if (aligned)
        *reinterpret_cast<Vec<T, 2> *>(to) = {first, second};
    else {
        to[0] = first;
        if (at + 1 < length)
            to[1] = second;
    }
}

} // namespace gr::matmul
