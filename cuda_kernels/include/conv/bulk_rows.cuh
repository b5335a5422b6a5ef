// Rows of pixels (NHWC) that bulk copies (TMA) bring to shared memory, each with an mbarrier that completes
// when it has arrived, and zeros where a block reaches beyond the picture. From c4 on.
#pragma once

#include "conv/conv.cuh"
#include "matmul/tma.cuh"

namespace gr::conv {

// Begins a bulk copy of at least 16 bytes, at addresses that are multiples of 16, which completes on
// `barrier`.
inline __device__ void copy_bytes(void *to, const void *from, unsigned bytes, const uint64_t *barrier) {
    ptx::mbarrier_arrive_expect_tx(shared_address(barrier), bytes);
    ptx::cp_async_bulk(shared_address(to), from, bytes, shared_address(barrier));
}

// Begins the copies of all rows: COLUMNS pixels of CHANNELS channels, which is all that x has, from row `top`
// and column `left` on, both of which may be outside. For all threads of the block; has a barrier.
template <int COLUMNS, int CHANNELS, int ROWS, int PITCH>
__device__ void begin_rows_of_pixels(const gr_conv_params &p, const float *x, int top, int left,
                                     float (&rows)[ROWS][PITCH], const uint64_t (&is_there)[ROWS]) {
    const int first = max(0, -left), end = max(first, min(COLUMNS, int(p.width.size) - left));
    if (top < 0 || top + ROWS > p.height.size || first > 0 || end < COLUMNS)
        for (int i = threadIdx.x; i < ROWS * COLUMNS * CHANNELS; i += blockDim.x) {
            const int row = i / (COLUMNS * CHANNELS), in_row = i % (COLUMNS * CHANNELS),
                      column = in_row / CHANNELS;
            if (column < first || column >= end || unsigned(top + row) >= p.height.size)
                rows[row][in_row] = 0;
        }
    __syncthreads();
    if (threadIdx.x < ROWS) {
        const int row = threadIdx.x;
        if (unsigned(top + row) < p.height.size && first < end)
            copy_bytes(&rows[row][first * CHANNELS], x + (top + row) * p.of_x.row + (left + first) * CHANNELS,
                       (end - first) * CHANNELS * sizeof(float), &is_there[row]);
        else
            ptx::mbarrier_arrive(shared_address(&is_there[row]));
    }
}

} // namespace gr::conv
