// What m6 and those after it do as m5 did: the tiles' way from memory to shared memory, through registers,
// and a thread's fragments from there.
#pragma once

#include "matmul_vector.cuh"

// The vectors of a block's tile that one thread brings: ROWS rows of WIDTH elements, every THREADS-th one.
template <class T, int ROWS, int WIDTH, int THREADS> struct Share {
    static constexpr int LENGTH = Vector<T>::LENGTH, ACROSS = WIDTH / LENGTH, EACH = ROWS * ACROSS / THREADS;
    static_assert(ROWS * ACROSS % THREADS == 0, "every thread brings the same number of vectors");
    Vector<T> vectors[EACH];

    // From a matrix of `rows` rows of `width` elements, zeros beyond it.
    __device__ void load(const T *matrix, uint64_t first_row, uint64_t rows, uint64_t first, uint64_t width,
                         bool aligned) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const unsigned index = threadIdx.x + i * THREADS;
            const uint64_t row = first_row + index / ACROSS, at = first + index % ACROSS * LENGTH;
            const bool inside = row < rows;
            vectors[i] = load_vector(matrix + (inside ? row * width : 0), at, inside ? width : 0, aligned);
        }
    }

    __device__ void store(T (&tile)[ROWS][WIDTH]) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const unsigned index = threadIdx.x + i * THREADS;
            *reinterpret_cast<Vector<T> *>(&tile[index / ACROSS][index % ACROSS * LENGTH]) = vectors[i];
        }
    }

    template <int PITCH> __device__ void store_transposed(T (&tile)[WIDTH][PITCH]) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const unsigned index = threadIdx.x + i * THREADS;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                tile[index % ACROSS * LENGTH + j][index / ACROSS] = vectors[i].element[j];
        }
    }
};

// GROUPS runs of four elements, APART elements from one to the next.
template <int GROUPS, int APART, class T> __device__ void load_fragment(const T *from, T (&to)[4 * GROUPS]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
#pragma unroll
    for (int i = 0; i < 4 * GROUPS; i += LENGTH) {
        const auto v = *reinterpret_cast<const Vector<T> *>(from + i / 4 * APART + i % 4);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            to[i + j] = v.element[j];
    }
}

// The results of a thread: two groups of four rows, 32 apart, by two groups of four columns, 16 apart.
template <class T>
__device__ void store_results(T *c, uint64_t first_row, uint64_t m, uint64_t first_column, uint64_t n,
                              const T (&sums)[8][8]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
    const bool aligned = rows_aligned(c, n);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        const uint64_t row = first_row + r / 4 * 32 + r % 4;
#pragma unroll
        for (int s = 0; s < 8; s += LENGTH) {
            Vector<T> v;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                v.element[j] = sums[r][s + j];
            if (row < m)
                store_vector(c + row * n, first_column + s / 4 * 16 + s % 4, n, aligned, v);
        }
    }
}
