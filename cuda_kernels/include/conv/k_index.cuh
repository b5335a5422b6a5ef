// An index of k of an implicit GEMM: which tap of which channel it is.
#pragma once

#include "conv/conv.cuh"

namespace gr::conv {

// A row that no image has, nor with the rows of a kernel added: those are less than 2^30.
constexpr unsigned NOWHERE = 0x7fffffff;

// The rows and columns of the tap, and its distances from the first tap of x and of w.
struct alignas(16) KIndex {
    unsigned down, along;
    int of_x, of_w;
};

// k is in the order of w, its channels last or first. An index after the last one is NOWHERE.
template <bool CHANNELS_LAST> __device__ KIndex k_index(const gr_conv_params &p, unsigned k) {
    const unsigned taps = unsigned(p.height.kernel * p.width.kernel), channels = unsigned(p.channels);
    const unsigned tap = CHANNELS_LAST ? k / channels : k % taps;
    const unsigned channel = CHANNELS_LAST ? k % channels : k / taps;
    const unsigned i = tap / unsigned(p.width.kernel), j = tap % unsigned(p.width.kernel);
    const unsigned down = i * unsigned(p.height.dilation), along = j * unsigned(p.width.dilation);
    return {k < taps * channels ? down : NOWHERE, along, int(conv_offset(p.of_x, 0, down, along, channel)),
            int(conv_offset(p.of_w, 0, i, j, channel))};
}

} // namespace gr::conv
