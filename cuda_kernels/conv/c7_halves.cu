// c7: 2-byte elements.
//
// What c5 still cost: four bytes per element, to and from memory.
// The change: float16 and bfloat16, unchanged. A chunk of 16 bytes has eight channels instead of four, and an
// instruction is 16 products deep; sums are float32, and are rounded once. What limits it now: as in c5.
// Where it shows: half of the bytes, half of the tensor-core instructions.
#include "common/entry.cuh"
#include "conv/conv3x3_c12_k24.cuh"

using namespace gr::conv;

enum { GROUPS = 2, THREADS = 128 * GROUPS, ROWS = 4, AT_ONCE = 2 };
static_assert(THREADS == row_c7.threads && GROUPS * 4 == GR_CONV_MMA_TILES_24 &&
              GROUPS * 2 == GR_CONV_MMA_TILES_64);

#define GR_CONV(suffix, T)                                                                                   \
    GR_ENTRY((GR_CONV_C12_THREADS, 2), c7_##suffix##_twelve_nhwc, __grid_constant__ gr_conv_tiles_params,    \
             conv3x3_c12_k24<T, true, ROWS, AT_ONCE>)                                                        \
    GR_ENTRY((GR_CONV_C12_THREADS, 2), c7_##suffix##_twelve_nchw, __grid_constant__ gr_conv_tiles_params,    \
             conv3x3_c12_k24<T, false, ROWS, AT_ONCE>)                                                       \
    GR_ENTRY((THREADS, 2), c7_##suffix##_24, __grid_constant__ gr_conv_mma_params,                           \
             tensor_core_conv<T, 24, GROUPS, 4>)                                                             \
    GR_ENTRY((THREADS, 2), c7_##suffix##_24_few, __grid_constant__ gr_conv_mma_params,                       \
             tensor_core_conv<T, 24, GROUPS, 2>)                                                             \
    GR_ENTRY((THREADS, 2), c7_##suffix##_64, __grid_constant__ gr_conv_mma_params,                           \
             tensor_core_conv<T, 64, GROUPS, 2>)

GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
