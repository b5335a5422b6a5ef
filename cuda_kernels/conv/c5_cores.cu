// c5: tensor cores.
//
// What c4 still cost: one instruction per 32 multiply-adds.
// The change: wgmma multiplies 64 pixels with 24 or 64 filters, eight products deep, in one instruction of
// four warps, from shared memory. float32 is rounded to TF32 as it is stored there, which has 10 fraction
// bits: the error is 2.9e-4 of the norm of the result, for float32 2e-7; sums are float32.
// conv/tensor_cores.cuh explains the layout of the pixels: a tap is an offset, so that data is never
// rearranged. For 12 channels and 3 x 3 taps, conv/conv3x3_c12_k24.cuh has compile-time constants for
// everything that the other kernel looks up; and in NHWC mma.sync reads such rows directly
// (conv/row_tensor_cores.cuh). What limits it now: memory, which has to transfer x once and the result once;
// and loading, multiplying and storing, which hardly overlap. Where it shows: tensor-core operations; no
// multiply-adds.
#include "common/entry.cuh"
#include "conv/conv3x3_c12_k24.cuh"
#include "conv/row_tensor_cores.cuh"
#include "conv/tiles.cuh"

using namespace gr::conv;

enum { GROUPS = 2, THREADS = 128 * GROUPS, ROWS = 4, AT_ONCE = 1 };
static_assert(THREADS == row_c5.threads && GROUPS * 4 == GR_CONV_MMA_TILES_24 &&
              GROUPS * 2 == GR_CONV_MMA_TILES_64);

GR_ENTRY((THREADS, 2), c5_f32_24, __grid_constant__ gr_conv_mma_params,
         tensor_core_conv<float, 24, GROUPS, 4>)
GR_ENTRY((THREADS, 2), c5_f32_64, __grid_constant__ gr_conv_mma_params,
         tensor_core_conv<float, 64, GROUPS, 2>)
GR_ENTRY((GR_CONV_C12_THREADS, 2), c5_f32_twelve_nchw, __grid_constant__ gr_conv_tiles_params,
         conv3x3_c12_k24<float, false, ROWS, AT_ONCE>)

// In NHWC the elements under a row of taps are contiguous.
typedef RowTensorCoreConv<ROWS, 128> Warps;
static_assert(sizeof(Warps::Shared) == GR_CONV_C12_TF32_NHWC_SHARED, "bytes of shared memory");

extern "C" __global__ void __launch_bounds__(Warps::THREADS, 2)
    c5_f32_twelve_nhwc(const __grid_constant__ gr_conv_tiles_params tiled) {
    const gr_conv_params &p = tiled.conv;
    Warps::Shared &shared = *shared_array<Warps::Shared>();
    const unsigned parts = unsigned(tiled.filter_tiles), first = blockIdx.x % parts * Warps::FILTERS;
    const unsigned left = blockIdx.x / parts * Warps::COLUMNS, top = blockIdx.y * ROWS;
    const int filters = min(int(Warps::FILTERS), int(p.filters) - int(first));
    pdl_launch_dependents();
    if (threadIdx.x < Warps::SEEN_ROWS)
        ptx::mbarrier_init(shared_address(&shared.row_is_there[threadIdx.x]), 1);
    if (threadIdx.x == 0)
        ptx::mbarrier_init(shared_address(&shared.weights_are_there), 1);
    ptx::fence_mbarrier_init();
    __syncthreads(); // while the kernel before still runs: filters first, rows fill what copies wait in
    pdl_wait();
    if (threadIdx.x == 0)
        copy_bytes(shared.weights, reinterpret_cast<const float *>(p.w) + int64_t(first) * Warps::WEIGHTS,
                   filters * sizeof(shared.weights[0]), &shared.weights_are_there);
    begin_rows_of_pixels<Warps::SEEN_COLUMNS, Warps::CHANNELS>(
        p, reinterpret_cast<const float *>(p.x) + blockIdx.z * p.of_x.outer, int(top) - int(p.height.padding),
        int(left) - int(p.width.padding), shared.rows, shared.row_is_there);
    Warps warp;
    warp.load_filters(shared, unsigned(filters));
    const unsigned lane = threadIdx.x % 32, column = threadIdx.x / 32 * 16, along = left + column + lane / 4;
    const int there = filters - int(lane % 4 * 2);
    const bool pairs = p.filters % 2 == 0 && p.out % 8 == 0;
    float *to = reinterpret_cast<float *>(p.out) + blockIdx.z * p.of_out.outer + top * p.of_out.row +
                along * p.of_out.column + first + lane % 4 * 2;
    for (unsigned i = 0; i < 2; ++i)
        ptx::mbarrier_wait_parity(shared_address(&shared.row_is_there[i]), 0);
#pragma unroll 1
    for (unsigned row = 0; row < ROWS && top + row < p.height.out; ++row, to += p.of_out.row) {
        ptx::mbarrier_wait_parity(shared_address(&shared.row_is_there[row + 2]), 0);
        float sums[Warps::FILTERS / 8][4] = {};
        warp.multiply_row(shared_address(&shared.rows[row][column * Warps::CHANNELS]), sums);
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int j = 0; j < Warps::FILTERS / 8 && along + 8 * h < p.width.out; ++j)
                store_pair(to + 8 * h * p.of_out.column + 8 * j, there - 8 * j, pairs, sums[j][2 * h],
                           sums[j][2 * h + 1]);
    }
}
