// c5: tensor cores.
//
// What c4 still cost: an instruction for 32 multiply-adds.
// The change: wgmma multiplies 64 pixels with 24 or 64 filters, eight products deep, in one instruction of
// four warps, out of shared memory. float32 is rounded to TF32 on its way there, which has 10 bits of
// fraction: 2.9e-4 of the result's norm, where float32 loses 2e-7; the sums are float32. What the pixels'
// layout there is good for says conv_cores.cuh: a tap is an offset, so that nothing is ever put in order. Of
// 12 channels and 3 x 3 taps conv_twelve.cuh knows all that the other looks up. What limits it now: memory,
// which has to move x once and the result once; and loading, multiplying and storing, which hardly overlap.
// Where it shows: tensor-core operations; multiply-adds, none.
#include "conv_twelve.cuh"

enum { GROUPS = 2, THREADS = 128 * GROUPS, ROWS = 4, AT_ONCE = 1 };

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    c5_f32_24(const __grid_constant__ gr_conv_cores_params p) {
    conv_on_cores<float, 24, GROUPS, 4>(p);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    c5_f32_64(const __grid_constant__ gr_conv_cores_params p) {
    conv_on_cores<float, 64, GROUPS, 2>(p);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    c5_f32_twelve_nchw(const __grid_constant__ gr_conv_tiles_params p) {
    conv_of_twelve<float, false, ROWS, AT_ONCE>(p);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    c5_f32_twelve_nhwc(const __grid_constant__ gr_conv_tiles_params p) {
    conv_of_twelve<float, true, ROWS, AT_ONCE>(p);
}
