// 16 bytes of a row of a matrix as one load or store, from m5 on.
#pragma once

#include <cstdint>

template <class T> struct alignas(16) Vec16 {
    static constexpr int LENGTH = 16 / sizeof(T);
    T element[LENGTH];
};

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
