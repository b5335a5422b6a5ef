// m5: 16-byte loads, A transposed in shared memory.
//
// What m4 still cost: a load instruction an element.
// The change: every load brings 16 bytes, from memory and from shared memory. For that the tile of A lies
// transposed in shared memory, so that the eight elements that a thread wants of a column lie side by side.
// What limits it now: the threads of a warp take two rows of the block's tile, 16 across: few of them share
// what they load. Where it shows: load instructions fall to a quarter; so do wavefronts of shared memory.
#include "matmul.cuh"
#include "matmul_vector.cuh"

enum { ROWS = 128, COLUMNS = 128, DEEP = 8, EACH = 8, THREADS = ROWS * COLUMNS / EACH / EACH, BLOCKS = 2 };

template <class T> __device__ void load_each(const T *from, T (&to)[EACH]) {
    constexpr int LENGTH = Vector<T>::LENGTH;
#pragma unroll
    for (int i = 0; i < EACH; i += LENGTH) {
        const auto v = *reinterpret_cast<const Vector<T> *>(from + i);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            to[i + j] = v.element[j];
    }
}

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    constexpr int LENGTH = Vector<T>::LENGTH;
    __shared__ alignas(16) T tile_a[DEEP][ROWS], tile_b[DEEP][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const bool a_aligned = rows_aligned(a, k), b_aligned = rows_aligned(b, n), c_aligned = rows_aligned(c, n);
    const unsigned t = threadIdx.x;
    const unsigned y = t / (COLUMNS / EACH) * EACH, x = t % (COLUMNS / EACH) * EACH;

    T sums[EACH][EACH] = {};
    for (uint64_t step = 0; step < k; step += DEEP) {
        for (unsigned i = t; i < ROWS * DEEP / LENGTH; i += THREADS) {
            const unsigned row = i / (DEEP / LENGTH), column = i % (DEEP / LENGTH) * LENGTH;
            const bool inside = first_row + row < m;
            const auto v = load_vector(a + (inside ? (first_row + row) * k : 0), step + column,
                                       inside ? k : 0, a_aligned);
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                tile_a[column + j][row] = v.element[j];
        }
        for (unsigned i = t; i < DEEP * COLUMNS / LENGTH; i += THREADS) {
            const unsigned row = i / (COLUMNS / LENGTH), column = i % (COLUMNS / LENGTH) * LENGTH;
            const bool inside = step + row < k;
            *reinterpret_cast<Vector<T> *>(&tile_b[row][column]) = load_vector(
                b + (inside ? (step + row) * n : 0), first_column + column, inside ? n : 0, b_aligned);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            T of_a[EACH], of_b[EACH];
            load_each(&tile_a[i][y], of_a);
            load_each(&tile_b[i][x], of_b);
#pragma unroll
            for (int r = 0; r < EACH; ++r)
#pragma unroll
                for (int s = 0; s < EACH; ++s)
                    sums[r][s] = multiply_add(of_a[r], of_b[s], sums[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int s = 0; s < EACH; s += LENGTH) {
            Vector<T> v;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                v.element[j] = sums[r][s + j];
            if (first_row + y + r < m)
                store_vector(c + (first_row + y + r) * n, first_column + x + s, n, c_aligned, v);
        }
}

#define GR_RUNG m5
#include "matmul_instantiate.cuh"
