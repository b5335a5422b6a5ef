// multi_sum, multi_square: exact sums of lists of arrays, and of squares, whose states multi_finish rounds.
#include "common/entry.cuh"
#include "multi/sums.cuh"

using namespace gr::multi;

#define KERNELS(name, In, threads, blocks, square_threads, square_blocks)                                    \
    GR_ENTRY((threads, blocks), multi_sum_##name, gr_multi_params, sum_list<In>)                             \
    GR_ENTRY((square_threads, square_blocks), multi_square_##name, gr_multi_params, square_list<In>)

KERNELS(f16, gr_f16, GR_EXACT_THREADS, GR_MULTI_SUM_BLOCKS, GR_MULTI_HALF_SQUARE_THREADS,
        GR_MULTI_HALF_SQUARE_BLOCKS)
KERNELS(bf16, gr_bf16, GR_EXACT_THREADS, GR_MULTI_SUM_BLOCKS, GR_MULTI_HALF_SQUARE_THREADS,
        GR_MULTI_HALF_SQUARE_BLOCKS)
KERNELS(f32, float, GR_EXACT_THREADS, GR_MULTI_SUM_BLOCKS, GR_MULTI_SQUARE_THREADS, GR_MULTI_SQUARE_BLOCKS)
KERNELS(f64, double, GR_EXACT_WIDE_THREADS, 1, GR_EXACT_WIDE_THREADS, 1)
