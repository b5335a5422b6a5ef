// 16 bytes of a row of a matrix at once, from m5 on.
#pragma once

#include <cstdint>

template <class T> struct alignas(16) Vector {
    static constexpr int LENGTH = 16 / sizeof(T);
    T element[LENGTH];
};

// Whether every row of a matrix begins on a boundary of 16 bytes: the same for all threads.
template <class T> __device__ bool rows_aligned(const T *matrix, uint64_t length) {
    return reinterpret_cast<uint64_t>(matrix) % 16 == 0 && length % Vector<T>::LENGTH == 0;
}

// The elements of a row from `at` on; zeros from `end` on, which change no sum.
template <class T> __device__ Vector<T> load_vector(const T *row, uint64_t at, uint64_t end, bool aligned) {
    Vector<T> v;
    if (aligned && at + Vector<T>::LENGTH <= end)
        return *reinterpret_cast<const Vector<T> *>(row + at);
#pragma unroll
    for (int i = 0; i < Vector<T>::LENGTH; ++i)
        v.element[i] = at + i < end ? row[at + i] : T(0);
    return v;
}

template <class T>
__device__ void store_vector(T *row, uint64_t at, uint64_t end, bool aligned, const Vector<T> &v) {
    if (aligned && at + Vector<T>::LENGTH <= end) {
        *reinterpret_cast<Vector<T> *>(row + at) = v;
        return;
    }
#pragma unroll
    for (int i = 0; i < Vector<T>::LENGTH; ++i)
        if (at + i < end)
            row[at + i] = v.element[i];
}
