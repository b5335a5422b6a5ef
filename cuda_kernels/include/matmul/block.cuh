// Common parts of m5 and the rungs after it: how tiles come from global to shared memory through registers, a
// thread's fragments of them, and its results.
#pragma once

#include "common/vec.cuh"
#include "matmul/matmul.cuh"
#include "matmul/vec16_rows.cuh"

namespace gr::matmul {

// Padding of the rows of a transposed tile, in elements, so that stores to rows below one another have no
// bank conflicts.
enum { PADDING = 4 };

// The part of A that one thread loads: a vector of each of COUNT rows below one another, of the block's
// tile of ROWS rows of TILE_K elements. The thread transposes it: COUNT elements along m for each element
// along k.
template <class T, int ROWS, int TILE_K, int THREADS> struct ShareOfA {
    static constexpr int LENGTH = Vec16<T>::LENGTH, COUNT = ROWS * TILE_K / LENGTH / THREADS;
    static_assert(COUNT * LENGTH * THREADS == ROWS * TILE_K, "every thread brings as much");
    Vec16<T> vectors[COUNT];

    // Two lanes next to each other, then down the rows: whole sectors of memory, and different banks for
    // their stores.
    static __device__ unsigned row() {
        return threadIdx.x / 2 % (ROWS / COUNT) * COUNT;
    }
    static __device__ unsigned column() {
        return (threadIdx.x % 2 + threadIdx.x / (2 * ROWS / COUNT) * 2) * LENGTH;
    }

    // From the rows from `first_row` on and the columns from `first` on, which end at `end`; zeros beyond
    // them, which change no sum. A tile that is whole, and whose vectors are aligned, asks for nothing more.
    __device__ void load(const Matrices<T> &p, uint64_t first_row, uint64_t first, uint64_t end,
                         bool aligned) {
        const unsigned valid_m = unsigned(min(p.m - first_row, uint64_t(ROWS)));
        const unsigned valid_k = unsigned(min(end - first, uint64_t(TILE_K)));
        const T *from = p.row_of_a(first_row + row()) + first + column();
        int64_t pitch = p.a_row;
        if (aligned && valid_m == ROWS && valid_k == TILE_K) {
            load_whole(from, pitch);
            return;
        }
        asm volatile("" : "+l"(pitch)); // what follows from it is computed here, and keeps no registers
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                vectors[i].element[j] =
                    row() + i < valid_m && column() + j < valid_k ? from[i * pitch + j] : T(0);
    }

    // From the first of its elements on, of a tile that is whole and aligned.
    __device__ void load_whole(const T *from, int64_t pitch) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            vectors[i] = *reinterpret_cast<const Vec16<T> *>(from + i * pitch);
    }

    template <int PITCH> __device__ void store(T (&tile)[TILE_K][PITCH]) const {
#pragma unroll
        for (int j = 0; j < LENGTH; ++j) {
            Vec<T, COUNT> turned;
#pragma unroll
            for (int i = 0; i < COUNT; ++i)
                turned.at[i] = vectors[i].element[j];
            *reinterpret_cast<Vec<T, COUNT> *>(&tile[column() + j][row()]) = turned;
        }
    }
};

// The part of B that one thread loads: vectors of every few rows of the block's tile of TILE_K rows of
// COLUMNS elements.
template <class T, int TILE_K, int COLUMNS, int THREADS> struct ShareOfB {
    static constexpr int LENGTH = Vec16<T>::LENGTH, VECS_N = COLUMNS / LENGTH,
                         COUNT = TILE_K * VECS_N / THREADS;
    static_assert(THREADS % VECS_N == 0 && COUNT * THREADS == TILE_K * VECS_N, "every thread brings as much");
    Vec16<T> vectors[COUNT];

    static __device__ unsigned row(int i) {
        return threadIdx.x / VECS_N + i * (THREADS / VECS_N);
    }
    static __device__ unsigned column() {
        return threadIdx.x % VECS_N * LENGTH;
    }

    __device__ void load(const Matrices<T> &p, uint64_t first_row, uint64_t first, bool aligned) {
        const unsigned valid_k = unsigned(min(p.k - first_row, uint64_t(TILE_K)));
        const unsigned valid_n = unsigned(min(p.n - first, uint64_t(COLUMNS)));
        const T *from = p.row_of_b(first_row + row(0)) + first + column();
        int64_t pitch = p.b_row;
        if (aligned && valid_k == TILE_K && valid_n == COLUMNS) {
            load_whole(from, pitch);
            return;
        }
        asm volatile("" : "+l"(pitch));
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                vectors[i].element[j] = row(i) < valid_k && column() + j < valid_n
                                            ? from[i * (THREADS / VECS_N) * pitch + j]
                                            : T(0);
    }

    __device__ void load_whole(const T *from, int64_t pitch) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            vectors[i] = *reinterpret_cast<const Vec16<T> *>(from + i * (THREADS / VECS_N) * pitch);
    }

    __device__ void store(T (&tile)[TILE_K][COLUMNS]) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            *reinterpret_cast<Vec16<T> *>(&tile[row(i)][column()]) = vectors[i];
    }
};

// Runs of four elements, APART elements from one to the next.
template <int APART, class T, int N> __device__ void load_fragment(const T *from, T (&to)[N]) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
#pragma unroll
    for (int i = 0; i < N; i += LENGTH) {
        const auto v = *reinterpret_cast<const Vec16<T> *>(from + i / 4 * APART + i % 4);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            to[i + j] = v.element[j];
    }
}

// The products of eight elements of a column of A and eight of a row of B.
template <class T> __device__ void add_products(const T (&frag_a)[8], const T (&frag_b)[8], T (&sums)[8][8]) {
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s)
            sums[r][s] = multiply_add(frag_a[r], frag_b[s], sums[r][s]);
}

// The results of a thread: runs of four rows, RUN_M from one to the next, by runs of four columns, RUN_N.
template <int RUN_M, int RUN_N, class T, int R, int S>
__device__ void store_results(const Matrices<T> &p, uint64_t first_row, uint64_t first_column,
                              const T (&sums)[R][S]) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
    const bool aligned = rows_aligned(p.c, p.n);
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const uint64_t row = first_row + r / 4 * RUN_M + r % 4;
        if (row >= p.m)
            return; // so are all later rows
#pragma unroll
        for (int s = 0; s < S; s += LENGTH) {
            Vec16<T> v;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                v.element[j] = sums[r][s + j];
            store_vec16(p.c + row * p.n, first_column + s / 4 * RUN_N + s % 4, p.n, aligned, v);
        }
    }
}

} // namespace gr::matmul
