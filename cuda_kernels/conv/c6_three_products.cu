// c6: the accuracy of float32, by three TF32 products.
//
// What c5 still cost: 13 fraction bits of each number.
// The change: each number is the sum of a large part, which is what tensor cores keep of it, and a small
// rest; both are in shared memory. x w = x' w' + x' s + r w', which omits the product of the two small parts.
// Both parts of the filters are neighbours, so that one instruction multiplies the large part of the pixels
// with both. The tensor cores truncate their sums, and these errors would accumulate: so they add only seven
// steps, and the threads add these sums, rounded to nearest. Infinity times a number without a small part
// becomes NaN. What limits it now: shared memory, from which the tensor cores read each pixel twice for each
// tap. Where it shows: three tensor-core operations instead of one; the error, 2.6e-7 of the norm of the
// result, for plain float32 1.9e-7.
#include "common/entry.cuh"
#include "conv/conv3x3_c12_k24.cuh"

using namespace gr::conv;

enum { GROUPS = 4, THREADS = 128 * GROUPS, CHAIN = 7 }; // steps that the tensor cores add up
static_assert(THREADS == row_c6.threads && GROUPS * 2 == GR_CONV_MMA_TILES_24 &&
              GROUPS == GR_CONV_MMA_TILES_32);

template <int FILTERS, int TILES> __device__ void conv(const gr_conv_mma_params &p) {
    pdl_launch_dependents();
    const TensorCoreConv<float, 2, FILTERS, GROUPS, TILES> cores(p);
    cores.make_table();
    uint32_t tile[TILES];
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        tile[i] = cores.pixels_of(i) >> 4;
    pdl_wait();
    float sums[TILES][FILTERS / 2] = {};
    for (unsigned channel = 0; channel < p.conv.channels; channel += cores.pieces * cores.LENGTH) {
        cores.bring(channel);
#pragma unroll 1
        for (unsigned first = 0; first < p.k_steps; first += CHAIN) {
            float big[TILES][FILTERS], small[TILES][FILTERS / 2];
            begin_products();
            const unsigned end = min(first + CHAIN, unsigned(p.k_steps));
#pragma unroll 1
            for (unsigned step = first; step < end; ++step) {
                const uint64_t seen = cores.pixels_descriptor(step), filters = cores.filters_descriptor(step);
#pragma unroll
                for (int i = 0; i < TILES; ++i) {
                    const uint64_t at = seen + tile[i];
                    multiply_pixels(0.f, big[i], at, filters, step == first); // by both parts of the filters
                    multiply_pixels(0.f, small[i], at + (cores.part >> 4), filters, step == first);
                }
            }
            commit_products();
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                finish_products(big[i]);
                finish_products(small[i]);
#pragma unroll
                for (int j = 0; j < FILTERS / 2; ++j)
                    sums[i][j] += big[i][j] + (big[i][FILTERS / 2 + j] + small[i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        cores.store_tile(i, sums[i]);
}

// The same where all but the size of the pictures is known.
template <bool NHWC> __device__ void conv3x3_c12_k24(const gr_conv_tiles_params &p) {
    enum { ROWS = 4 };
    typedef Conv3x3C12K24<float, 2, NHWC, ROWS> Block;
    enum { FILTERS = Block::FILTERS, HALF = FILTERS / 2 };
    pdl_launch_dependents();
    const Block block(p);
    pdl_wait();
    block.bring();
#pragma unroll 1
    for (int row = 0; row < ROWS; ++row) {
        float big[Block::STEPS / CHAIN][FILTERS], small[HALF];
        begin_products();
#pragma unroll
        for (int step = 0; step < Block::STEPS; ++step) {
            const uint64_t filters = block.filters_descriptor(step);
            multiply_pixels(0.f, small, block.pixels_descriptor(row, step, 1), filters, step == 0);
            multiply_pixels(0.f, big[step / CHAIN], block.pixels_descriptor(row, step, 0), filters,
                            step % CHAIN == 0);
        }
        commit_products();
        finish_products(small);
        hold(big[0]);
        hold(big[1]);
        float sums[HALF];
#pragma unroll
        for (int j = 0; j < HALF; ++j)
            sums[j] = big[0][j] + big[1][j] + (small[j] + (big[0][HALF + j] + big[1][HALF + j]));
        block.store_row(row, sums);
    }
}

GR_ENTRY((GR_CONV_C12_THREADS, 2), c6_f32_twelve_nhwc, __grid_constant__ gr_conv_tiles_params,
         conv3x3_c12_k24<true>)
GR_ENTRY((GR_CONV_C12_THREADS, 2), c6_f32_twelve_nchw, __grid_constant__ gr_conv_tiles_params,
         conv3x3_c12_k24<false>)
GR_ENTRY((THREADS, 1), c6_f32_24, __grid_constant__ gr_conv_mma_params, conv<24, 2>)
GR_ENTRY((THREADS, 1), c6_f32_32, __grid_constant__ gr_conv_mma_params, conv<32, 1>)
