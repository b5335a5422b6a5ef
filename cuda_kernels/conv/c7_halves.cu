// c7: halves.
//
// What c5 still cost: four bytes per element, to and from memory.
// The change: float16 and bfloat16 as they are. A piece of 16 bytes has eight channels instead of four, a
// product is sixteen deep; the sums are float32, and are rounded once. What limits it now: as c5. Where it
// shows: half of the bytes, half of the tensor-core instructions.
#include "conv/conv3x3_c12_k24.cuh"

enum { GROUPS = 2, THREADS = 128 * GROUPS, ROWS = 4, AT_ONCE = 2 };

#define GR_TWELVE(suffix, form, T, NHWC)                                                                     \
    extern "C" __global__ void __launch_bounds__(256, 2)                                                     \
        c7_##suffix##_twelve_##form(const __grid_constant__ gr_conv_tiles_params p) {                        \
        conv3x3_c12_k24<T, NHWC, ROWS, AT_ONCE>(p);                                                          \
    }
#define GR_ENTRY(name, T, FILTERS, TILES)                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        name(const __grid_constant__ gr_conv_mma_params p) {                                                 \
        tensor_core_conv<T, FILTERS, GROUPS, TILES>(p);                                                      \
    }
#define GR_CONV(suffix, T)                                                                                   \
    GR_TWELVE(suffix, nhwc, T, true)                                                                         \
    GR_TWELVE(suffix, nchw, T, false)                                                                        \
    GR_ENTRY(c7_##suffix##_24, T, 24, 4)                                                                     \
    GR_ENTRY(c7_##suffix##_64, T, 64, 2)

GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
