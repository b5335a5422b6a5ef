// c7: halves.
//
// What c5 still cost: four bytes an element, to and from memory.
// The change: float16 and bfloat16 as they are. A piece of 16 bytes has eight channels in place of four, a
// product is sixteen deep; the sums are float32, and are rounded once. What limits it now: as c5. Where it
// shows: half of the bytes, half of the tensor-core instructions.
#include "conv_cores.cuh"

enum { GROUPS = 2, THREADS = 128 * GROUPS };

#define GR_ENTRY(name, T, FILTERS, TILES, KNOWN, PARAMS)                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        name(const __grid_constant__ gr_conv_cores_params p) {                                               \
        conv_on_cores<T, FILTERS, GROUPS, TILES, KNOWN>(PARAMS);                                             \
    }
#define GR_CONV(suffix, T)                                                                                   \
    GR_ENTRY(c7_##suffix##_known, T, 24, 4, true, known<T>(p))                                               \
    GR_ENTRY(c7_##suffix##_24, T, 24, 4, false, p)                                                           \
    GR_ENTRY(c7_##suffix##_64, T, 64, 2, false, p)

GR_CONV(f16, gr_f16)
GR_CONV(bf16, gr_bf16)
