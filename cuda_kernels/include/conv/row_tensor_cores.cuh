// TF32 convolution of 3 x 3 taps and 12 channels in NHWC directly from rows of pixels: the 36 numbers of a
// row that a result depends on are contiguous, so ldmatrix loads them for mma.sync, nine pieces of 16 bytes
// for each row. A warp has 16 columns and goes down the rows, with its filters in registers.
#pragma once

#include "common/shared_array.cuh"
#include "conv/bulk_rows.cuh"
#include "conv/tensor_cores.cuh"

namespace gr::conv {

template <int ROWS, int COLUMNS_> struct RowTensorCoreConv {
    enum { CHANNELS = 12, FILTERS = 24, WEIGHTS = 9 * CHANNELS, PIECES = 9 };
    enum { COLUMNS = COLUMNS_, THREADS = COLUMNS / 16 * 32 };
    enum { SEEN_ROWS = ROWS + 2, SEEN_COLUMNS = COLUMNS + 2 };
    struct alignas(16) Shared {
        float rows[SEEN_ROWS][SEEN_COLUMNS * CHANNELS], weights[FILTERS][3 * PIECES * 4];
        uint64_t row_is_there[SEEN_ROWS], weights_are_there;
    };
    uint32_t filters[3][PIECES][FILTERS / 8]; // of a row of taps

    // Four neighbouring lanes have one filter; eight filters make a fragment. `there`: number of filters.
    __device__ void load_filters(const Shared &shared, unsigned there) {
        const unsigned lane = threadIdx.x % 32;
        ptx::mbarrier_wait_parity(shared_address(&shared.weights_are_there), 0);
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
            for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
                for (int j = 0; j < FILTERS / 8; ++j)
                    filters[i][piece][j] =
                        8 * j + lane / 4 < there
                            ? ptx::cvt_rna_tf32(__float_as_uint(
                                  shared.weights[8 * j + lane / 4][(i * PIECES + piece) * 4 + lane % 4]))
                            : 0;
    }

    // Two pieces of 16 pixels from `at` on, the second only where there are `two`.
    static __device__ void load_pixels(uint32_t at, bool two, uint32_t (&to)[4]) {
        const unsigned lane = threadIdx.x % 32;
        at += lane % 16 * CHANNELS * 4 + (two ? lane / 16 * 16 : 0);
        ptx::ldmatrix_x4(at, to);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[i] = ptx::cvt_rna_tf32(to[i]);
    }

    static __device__ void multiply(const uint32_t (&a)[4], uint32_t b, float (&sums)[4]) {
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b));
    }

    // The results of 16 pixels: `at` is where the first one's first taps begin.
    __device__ void multiply_row(uint32_t at, float (&sums)[FILTERS / 8][4]) const {
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
            for (int piece = 0; piece < PIECES; piece += 2) {
                const bool two = piece + 1 < PIECES;
                uint32_t a[4];
                load_pixels(at + i * sizeof(Shared::rows[0]) + piece * 16, two, a);
#pragma unroll
                for (int j = 0; j < FILTERS / 8; ++j)
                    if (two)
                        ptx::mma_m16n8(float(), a, filters[i][piece][j], filters[i][piece + two][j], sums[j]);
                    else
                        multiply(a, filters[i][piece][j], sums[j]);
            }
    }
};

} // namespace gr::conv
