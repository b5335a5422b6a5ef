// What m5 and those after it have in common: the tiles' way from memory to shared memory, through registers,
// a thread's fragments from there, and its results.
#pragma once

#include "matmul_vector.cuh"

// Elements that part the rows of a transposed tile beyond its length, so that the elements of a vector, which
// go to rows below one another, meet those of the next lane in no bank.
enum { PADDING = 4 };

// The vectors of a block's tile that one thread brings, of ROWS rows of WIDTH elements. NEIGHBOURS lanes
// bring vectors of one row, side by side.
template <class T, int ROWS, int WIDTH, int NEIGHBOURS, int THREADS> struct Share {
    static constexpr int LENGTH = Vector<T>::LENGTH, EACH = ROWS * WIDTH / LENGTH / THREADS;
    static_assert(ROWS * WIDTH % (LENGTH * THREADS) == 0, "every thread brings the same number of vectors");
    Vector<T> vectors[EACH];

    // Turn by turn THREADS of them: where in its first turn, and how far from there.
    static_assert(NEIGHBOURS * ROWS % THREADS == 0, "a row ends with a turn");
    static __device__ unsigned row(int i) {
        return threadIdx.x / NEIGHBOURS + i * THREADS / NEIGHBOURS % ROWS;
    }
    static __device__ unsigned column(int i) {
        return (threadIdx.x % NEIGHBOURS + i * THREADS / (NEIGHBOURS * ROWS) * NEIGHBOURS) * LENGTH;
    }

    // From a matrix of `rows` rows of `width` elements, `pitch` from one row to the next; zeros beyond it,
    // which change no sum. A tile that is whole, and whose vectors are aligned, asks for nothing more.
    __device__ void load(const T *matrix, int64_t pitch, uint64_t first_row, uint64_t rows, uint64_t first,
                         uint64_t width, bool aligned) {
        const T *corner = matrix + int64_t(first_row) * pitch + first;
        const unsigned below = unsigned(min(rows - first_row, uint64_t(ROWS)));
        const unsigned across = unsigned(min(width - first, uint64_t(WIDTH)));
        if (aligned && below == ROWS && across == WIDTH) {
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                vectors[i] =
                    *reinterpret_cast<const Vector<T> *>(corner + int64_t(row(i)) * pitch + column(i));
            return;
        }
        asm volatile("" : "+l"(pitch)); // what follows from it is computed here, and keeps no registers
#pragma unroll
        for (int i = 0; i < EACH; ++i)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j) {
                const bool inside = row(i) < below && column(i) + j < across;
                vectors[i].element[j] = inside ? corner[int64_t(row(i)) * pitch + column(i) + j] : T(0);
            }
    }

    __device__ void store(T (&tile)[ROWS][WIDTH]) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            *reinterpret_cast<Vector<T> *>(&tile[row(i)][column(i)]) = vectors[i];
    }

    template <int PITCH> __device__ void store_transposed(T (&tile)[WIDTH][PITCH]) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                tile[column(i) + j][row(i)] = vectors[i].element[j];
    }
};

// What a block brings in a step along k: DEEP columns of A, two lanes a row, and DEEP rows of B.
template <class T, int ROWS, int DEEP, int THREADS> using ShareOfA = Share<T, ROWS, DEEP, 2, THREADS>;
template <class T, int DEEP, int COLUMNS, int THREADS>
using ShareOfB = Share<T, DEEP, COLUMNS, COLUMNS / Vector<T>::LENGTH, THREADS>;

// Where a lane's results lie among its warp's, eight lanes down and four across. A load of 16 bytes from
// shared memory takes half the wavefronts where each two neighbours, or each two lanes next but one, want the
// same: the former is so down the warp's tile, the latter across.
inline __device__ unsigned lane_down() {
    return threadIdx.x / 2 % 8;
}
inline __device__ unsigned lane_across() {
    return threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2;
}

// Runs of four elements, APART elements from one to the next.
template <int APART, class T, int N> __device__ void load_fragment(const T *from, T (&to)[N]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
#pragma unroll
    for (int i = 0; i < N; i += LENGTH) {
        const auto v = *reinterpret_cast<const Vector<T> *>(from + i / 4 * APART + i % 4);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            to[i + j] = v.element[j];
    }
}

// The products of eight elements of a column of A and eight of a row of B.
template <class T> __device__ void add_products(const T (&down)[8], const T (&across)[8], T (&sums)[8][8]) {
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s)
            sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
}

// The results of a thread: runs of four rows, DOWN from one to the next, by runs of four columns, ACROSS.
template <int DOWN, int ACROSS, class T, int R, int S>
__device__ void store_results(const Matrices<T> &p, uint64_t first_row, uint64_t first_column,
                              const T (&sums)[R][S]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
    const bool aligned = rows_aligned(p.c, p.n);
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const uint64_t row = first_row + r / 4 * DOWN + r % 4;
        if (row >= p.m)
            return; // so are those after it
#pragma unroll
        for (int s = 0; s < S; s += LENGTH) {
            Vector<T> v;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                v.element[j] = sums[r][s + j];
            store_vector(p.c + row * p.n, first_column + s / 4 * ACROSS + s % 4, p.n, aligned, v);
        }
    }
}
