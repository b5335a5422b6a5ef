// Transposes NCHW to NHWC, x and the filters in one launch, for the rungs whose tiles TMA brings.
//
// A block takes some channels of some pixels through shared memory, 16 bytes at once on either side where the
// pixels of a channel allow it. Where a channel has few pixels, such as the taps of a filter, a block has all
// of them; then its channels are contiguous and come as one run.
#pragma once

#include "common/shared_array.cuh"
#include "conv/conv.cuh"
#include "matmul/tma.cuh"

namespace gr::conv {

using namespace common;

enum { TURN_THREADS = GR_CONV_TRANSPOSE_THREADS, PIXELS = GR_CONV_TRANSPOSE_PIXELS };

// The offset of a pixel of a channel in a tile, in words, without bank conflicts for loads and for stores.
template <class T> __device__ unsigned word_at(unsigned channel, unsigned word) {
    enum { PITCH = PIXELS * sizeof(T) / 4 + 1 };
    return channel * PITCH + word + (sizeof(T) == 2 ? channel / 32 * 4 : 0);
}

// CHANNELS by PIXELS, which come as units.
template <class T, class Unit>
__device__ void fetch(const gr_conv_transpose &p, const T *from, unsigned channels, unsigned pixels) {
    enum { CHANNELS = 128 / sizeof(T), OF_UNIT = sizeof(Unit) / sizeof(T), UNITS = PIXELS / OF_UNIT };
    uint32_t *tile = shared_array<uint32_t>();
#pragma unroll
    for (unsigned i = threadIdx.x; i < CHANNELS * UNITS; i += TURN_THREADS) {
        const unsigned channel = i / UNITS, pixel = i % UNITS * OF_UNIT;
        if (channel >= channels || pixel >= pixels)
            continue;
        const Unit unit = *reinterpret_cast<const Unit *>(from + channel * p.channel + pixel);
        if constexpr (sizeof(Unit) == 2)
            reinterpret_cast<T *>(tile + word_at<T>(channel, 0))[pixel] = reinterpret_cast<const T &>(unit);
        else
#pragma unroll
            for (unsigned j = 0; j < sizeof(Unit) / 4; ++j)
                tile[word_at<T>(channel, pixel * sizeof(T) / 4 + j)] =
                    reinterpret_cast<const uint32_t *>(&unit)[j];
    }
}

// 16 bytes of each pixel at once: of a 2-byte type two pixels lie in a word.
template <class T>
__device__ void put(const gr_conv_transpose &p, T *to, unsigned channels, unsigned pixels) {
    enum { EACH = 4 / sizeof(T), LENGTH = 16 / sizeof(T), PIECES = 8 };
    const uint32_t *tile = shared_array<uint32_t>();
#pragma unroll
    for (unsigned i = threadIdx.x; i < PIECES * PIXELS / EACH; i += TURN_THREADS) {
        const unsigned channel = i % PIECES * LENGTH, word = i / PIECES, pixel = word * EACH;
        if (channel >= channels || pixel >= pixels)
            continue;
        uint32_t w[LENGTH];
#pragma unroll
        for (unsigned j = 0; j < LENGTH; ++j)
            w[j] = tile[word_at<T>(channel + j, word)];
        T *at = to + uint64_t(pixel) * p.channels + channel;
        if constexpr (sizeof(T) == 4) {
            *reinterpret_cast<uint4 *>(at) = {w[0], w[1], w[2], w[3]};
        } else {
            uint32_t both[2][4];
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) {
                both[0][j] = __byte_perm(w[2 * j % LENGTH], w[(2 * j + 1) % LENGTH], 0x5410);
                both[1][j] = __byte_perm(w[2 * j % LENGTH], w[(2 * j + 1) % LENGTH], 0x7632);
            }
#pragma unroll
            for (unsigned j = 0; j < 2; ++j)
                if (pixel + j < pixels)
                    *reinterpret_cast<uint4 *>(at + j * p.channels) = {both[j][0], both[j][1], both[j][2],
                                                                       both[j][3]};
        }
    }
}

// All pixels of p.tile_channels channels.
template <class T>
__device__ void turn_run(const gr_conv_transpose &p, const T *from, T *to, unsigned channels) {
    enum { LENGTH = 16 / sizeof(T) };
    T *run = shared_array<T>();
    const unsigned pixels = unsigned(p.pixels), all = channels * pixels, pieces = channels / LENGTH;
    for (unsigned i = threadIdx.x; i < all / LENGTH; i += TURN_THREADS)
        reinterpret_cast<uint4 *>(run)[i] = reinterpret_cast<const uint4 *>(from)[i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < all / LENGTH; i += TURN_THREADS) {
        const unsigned pixel = i / pieces, channel = i % pieces * LENGTH;
        uint4 piece;
#pragma unroll
        for (unsigned j = 0; j < LENGTH; ++j)
            reinterpret_cast<T *>(&piece)[j] = run[(channel + j) * pixels + pixel];
        *reinterpret_cast<uint4 *>(to + uint64_t(pixel) * p.channels + channel) = piece;
    }
}

template <class T> __device__ void turn(const gr_conv_transpose &p, unsigned number) {
    const unsigned across = number % p.pixel_tiles, part = number / p.pixel_tiles % p.channel_tiles;
    const uint64_t picture = number / p.pixel_tiles / p.channel_tiles,
                   first = uint64_t(part) * p.tile_channels;
    const unsigned channels = unsigned(min(uint64_t(p.tile_channels), p.channels - first));
    const uint64_t pixel = uint64_t(across) * PIXELS;
    const T *from =
        reinterpret_cast<const T *>(p.from) + int64_t(picture) * p.outer + int64_t(first) * p.channel + pixel;
    T *to = reinterpret_cast<T *>(p.to) + (picture * p.pixels + pixel) * p.channels + first;
    if (p.unit_bytes == 0) {
        turn_run(p, from, to, channels);
        return;
    }
    const unsigned pixels = unsigned(min(uint64_t(PIXELS), p.pixels - pixel));
    if (p.unit_bytes == 16)
        fetch<T, uint4>(p, from, channels, pixels);
    else if (p.unit_bytes == 8)
        fetch<T, uint2>(p, from, channels, pixels);
    else if (p.unit_bytes == 4)
        fetch<T, uint32_t>(p, from, channels, pixels);
    else
        fetch<T, T>(p, from, channels, pixels);
    __syncthreads();
    put(p, to, channels, pixels);
}

// x, then w, by blocks of one launch.
template <class T> __device__ void turn(const gr_conv_transpose_params &p) {
    pdl_launch_dependents();
    pdl_wait();
    if (blockIdx.x < p.x.blocks)
        turn<T>(p.x, blockIdx.x);
    else
        turn<T>(p.w, blockIdx.x - p.x.blocks);
}

} // namespace gr::conv
