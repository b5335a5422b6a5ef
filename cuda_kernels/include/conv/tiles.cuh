// Common parts of the rungs in which a block computes a tile of the results: some pixels, and some filters of
// a group.
#pragma once

#include "conv/conv.cuh"
#include "matmul/cp_async_pipeline.cuh"

namespace gr::conv {

// Blocks are numbered through the parts of a group's filters first, so that those which see the same pixels
// follow each other; then through the groups, and then through what the rung does not share.
struct FilterTile {
    unsigned group, first; // filter of the group
    unsigned rest;

    __device__ explicit FilterTile(const gr_conv_tiles_params &p) {
        const unsigned parts = unsigned(p.filter_tiles), groups = unsigned(p.conv.groups);
        first = blockIdx.x % parts * unsigned(p.filters);
        group = blockIdx.x / parts % groups;
        rest = blockIdx.x / parts / groups;
    }
    // Where the results of a pixel lie, and the elements of w.
    __device__ float *results(const gr_conv_params &p, uint64_t picture, uint64_t down,
                              uint64_t along) const {
        return reinterpret_cast<float *>(p.out) +
               conv_offset(p.of_out, picture, down, along, group * p.filters + first);
    }
    __device__ const float *filters(const gr_conv_params &p) const {
        return reinterpret_cast<const float *>(p.w) + int64_t(group * p.filters + first) * p.of_w.outer;
    }
};

// Whether four neighbouring filters of a pixel, if it has so many, can be stored at once.
inline __device__ bool fours_aligned(const gr_conv_params &p) {
    return p.of_out.channel == 1 && p.out % 16 == 0 && p.filters % 4 == 0;
}

// The results of LENGTH filters of a pixel, of which `there` exist; `aligned` is fours_aligned.
template <int LENGTH>
__device__ void store_filters(const gr_conv_params &p, float *to, int there, bool aligned,
                              const float *sums) {
#pragma unroll
    for (int i = 0; i < LENGTH; i += 4)
        if (aligned && i < there)
            *reinterpret_cast<float4 *>(to + i) = float4{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
        else
#pragma unroll
            for (int j = i; j < i + 4; ++j)
                if (j < there)
                    to[j * p.of_out.channel] = sums[j];
}

// Two neighbouring filters, of which `there` exist.
inline __device__ void store_pair(float *to, int there, bool aligned, float a, float b) {
    if (aligned && there > 0)
        store_at_once(to, float2{a, b});
    else if (!aligned) {
        if (there > 0)
            to[0] = a;
        if (there > 1)
            to[1] = b;
    }
}

// Four neighbours in shared memory.
inline __device__ void load_four(const float *from, float (&to)[4]) {
    *reinterpret_cast<float4 *>(to) = *reinterpret_cast<const float4 *>(from);
}

} // namespace gr::conv
