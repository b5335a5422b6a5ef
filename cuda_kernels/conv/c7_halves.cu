// c7: halves.
//
// What c5 still cost: four bytes an element, to and from memory.
// The change: float16 and bfloat16 as they are. A piece of 16 bytes has eight channels in place of four, a
// product is sixteen deep; the sums are float32, and are rounded once. What limits it now: as c5. Where it
// shows: half of the bytes, half of the tensor-core instructions.
#include "conv_cores.cuh"

enum { GROUPS = 2, THREADS = 128 * GROUPS };

#define GR_CONV(suffix, T)                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        c7_##suffix##_24(const __grid_constant__ gr_conv_cores_params p) {                                   \
        conv_on_cores<T, 24, GROUPS, 4>(p);                                                                  \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        c7_##suffix##_64(const __grid_constant__ gr_conv_cores_params p) {                                   \
        conv_on_cores<T, 64, GROUPS, 2>(p);                                                                  \
    }

GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
