// The entries of a rung of the matrix multiplications: GR_RUNG is its name, `matmul` its kernel for one pair
// of matrices, ROWS by COLUMNS the tile and THREADS the threads of a block, and BLOCKS the blocks per
// multiprocessor that registers must allow, with elements of 4 bytes.
#include "common/entry.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

template <class T> __device__ void matmul_of(const gr_matmul_params &p) {
    const uint64_t pair = matrix_of_block();
    if (pair >= p.pairs)
        return;
    const unsigned tiles_n = unsigned(p.n_tiles);
    matmul(matrices_of<T>(p, pair), Block{blockIdx.x % tiles_n, blockIdx.x / tiles_n});
}

#define GR_JOIN(a, b) a##b
#define GR_NAME(rung, suffix) GR_JOIN(rung, suffix)
static_assert(GR_NAME(row_, GR_RUNG).rows == ROWS && GR_NAME(row_, GR_RUNG).columns == COLUMNS &&
              GR_NAME(row_, GR_RUNG).threads == THREADS);
#define GR_MATMUL(suffix, T)                                                                                 \
    GR_ENTRY((THREADS, sizeof(T) <= 4 ? BLOCKS : 1), GR_NAME(GR_RUNG, suffix),                               \
             __grid_constant__ gr_matmul_params, matmul_of<T>)

GR_MATMUL(_f32, float)
#if defined(GR_TENSOR_CORES)
GR_MATMUL(_f16, gr_f16)
GR_MATMUL(_bf16, gr_bf16)
#elif !defined(GR_MATMUL_F32)
GR_MATMUL(_f64, double)
GR_MATMUL(_i32, int32_t)
GR_MATMUL(_i64, int64_t)
#endif
