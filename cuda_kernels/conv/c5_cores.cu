// c5: tensor cores.
//
// What c4 still cost: an instruction for 32 multiply-adds.
// The change: wgmma multiplies 64 pixels with 24 or 64 filters, eight products deep, in one instruction of
// four warps, out of shared memory. float32 is rounded to TF32 on its way there, which has 10 bits of
// fraction: 2.9e-4 of the result's norm, where float32 loses 2e-7; the sums are float32. What the pixels'
// layout there is good for says the header: a tap is an offset, so that nothing is ever put in order. What
// limits it now: memory, which has to move x once and the result once; and loading, multiplying and storing,
// which hardly overlap. Where it shows: tensor-core operations; multiply-adds, none.
#include "conv_cores.cuh"
#include "conv_row_cores.cuh"
#include "conv_tiles.cuh"

enum { GROUPS = 2, THREADS = 128 * GROUPS };

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    c5_f32_known(const __grid_constant__ gr_conv_cores_params p) {
    conv_on_cores<float, 24, GROUPS, 4, true>(known<float>(p));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    c5_f32_24(const __grid_constant__ gr_conv_cores_params p) {
    conv_on_cores<float, 24, GROUPS, 4, false>(p);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    c5_f32_64(const __grid_constant__ gr_conv_cores_params p) {
    conv_on_cores<float, 64, GROUPS, 2, false>(p);
}

// NHWC with the taps and channels that are known.
enum { ROWS = 8, COLUMNS = 64 };
typedef RowCores<ROWS, COLUMNS> Warps;

extern "C" __global__ void __launch_bounds__(Warps::THREADS, 4)
    c5_f32_rows(const __grid_constant__ gr_conv_tiles_params tiled) {
    const gr_conv_params &p = tiled.conv;
    Warps::Shared &shared = *shared_array<Warps::Shared>();
    const Part part(tiled);
    const unsigned across = unsigned(tiled.across), down = unsigned(tiled.down),
                   picture = part.rest / across / down;
    const unsigned top = part.rest / across % down * ROWS, left = part.rest % across * COLUMNS;
    let_next_in();
    if (threadIdx.x < Warps::SEEN_ROWS)
        make_barrier(shared_address(&shared.row_is_there[threadIdx.x]), 1);
    if (threadIdx.x == 0)
        make_barrier(shared_address(&shared.weights_are_there), 1);
    barriers_are_made();
    wait_for_previous();
    const float *x = reinterpret_cast<const float *>(p.x) + picture * p.of_x.outer;
    begin_rows_of_pixels<Warps::SEEN_COLUMNS, Warps::CHANNELS>(p, x, int(top) - int(p.down.padding),
                                                               int(left) - int(p.along.padding), shared.rows,
                                                               shared.row_is_there);
    const unsigned filters = min(unsigned(Warps::FILTERS), unsigned(p.filters) - part.first);
    if (threadIdx.x == 0)
        copy_bytes(shared.weights, part.filters(p), filters * sizeof(shared.weights[0]),
                   &shared.weights_are_there);
    Warps warp;
    warp.load_filters(shared, filters);
    const unsigned lane = threadIdx.x % 32, column = threadIdx.x / 32 * 16;
    const bool pairs = filters % 2 == 0 && p.filters % 2 == 0 && p.out % 8 == 0;
    for (unsigned i = 0; i < 2; ++i)
        wait_for(shared_address(&shared.row_is_there[i]), 0);
#pragma unroll 1
    for (unsigned row = 0; row < ROWS && top + row < p.down.out; ++row) {
        wait_for(shared_address(&shared.row_is_there[row + 2]), 0);
        float sums[Warps::FILTERS / 8][4] = {};
        warp.multiply_row(shared_address(&shared.rows[row][column * Warps::CHANNELS]), sums);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned x_ = left + column + lane / 4 + 8 * h;
            float *to = part.results(p, picture, top + row, x_) + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < Warps::FILTERS / 8 && x_ < p.along.out; ++j)
                store_pair(to + 8 * j, int(filters) - int(8 * j + lane % 4 * 2), pairs, sums[j][2 * h],
                           sums[j][2 * h + 1]);
        }
    }
}
