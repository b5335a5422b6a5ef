// Copies x and the filters to NHWC in one launch, for the rungs whose tiles TMA loads: NCHW by a transpose,
// and NHWC whose channels are no multiple of 16 bytes to padded pixels.
//
// A block of the transpose takes some channels of some pixels through shared memory, 16 bytes at once on
// either side where the pixels of a channel are aligned to 8 bytes or more. Otherwise it loads the aligned
// vectors that have these pixels, and shared memory keeps the offset of each channel. If a channel has few
// pixels, such as the taps of a filter, a block copies all of them: its channels are contiguous.
#pragma once

#include "common/shared_array.cuh"
#include "common/vec.cuh"
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

// Returns channels with those that fill the last vector of 16 bytes.
template <class T> __device__ unsigned whole_vecs(unsigned channels) {
    enum { LENGTH = 16 / sizeof(T) };
    return (channels + LENGTH - 1) / LENGTH * LENGTH;
}

// Loads CHANNELS by PIXELS by units, and zeros up to whole vectors of channels.
template <class T, class Unit>
__device__ void fetch(const gr_conv_transpose &p, const T *from, unsigned channels, unsigned pixels) {
    enum { CHANNELS = 128 / sizeof(T), OF_UNIT = sizeof(Unit) / sizeof(T), UNITS = PIXELS / OF_UNIT };
    uint32_t *tile = shared_array<uint32_t>();
#pragma unroll
    for (unsigned i = threadIdx.x; i < CHANNELS * UNITS; i += TURN_THREADS) {
        const unsigned channel = i / UNITS, pixel = i % UNITS * OF_UNIT;
        if (channel >= whole_vecs<T>(channels) || pixel >= pixels)
            continue;
        Unit unit = {};
        if (channel < channels)
            unit = *reinterpret_cast<const Unit *>(from + channel * p.channel + pixel);
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
        T *at = to + uint64_t(pixel) * p.pitch + channel;
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
                    *reinterpret_cast<uint4 *>(at + j * p.pitch) = {both[j][0], both[j][1], both[j][2],
                                                                    both[j][3]};
        }
    }
}

// Tiles of channels that begin at any element: a row of shared memory has the 16-byte pieces of global memory
// that a channel's pixels are in.
template <class T> struct RawTile {
    enum { CHANNELS = 128 / sizeof(T), LENGTH = 16 / sizeof(T), PIECES = PIXELS / LENGTH + 1 };
    const gr_conv_transpose &p;
    const T *from; // the first pixel of the first channel
    unsigned channels, pixels;

    // Elements of the first piece of a channel before its first pixel.
    __device__ unsigned offset(unsigned channel) const {
        const unsigned first = unsigned(reinterpret_cast<uint64_t>(from) / sizeof(T)) % LENGTH;
        return (first + channel * unsigned(p.channel)) % LENGTH;
    }
    // Where a channel's row begins: without bank conflicts for the threads of `store_pixels`.
    static __device__ T *row(unsigned channel) {
        return shared_array<T>() + (channel * PIECES + channel / LENGTH) * LENGTH;
    }
    // Whether a piece is within the array; if not, elements outside of the array are not loaded.
    __device__ bool is_inside(const T *piece) const {
        const T *first = reinterpret_cast<const T *>(p.from);
        return piece >= first && piece + LENGTH <= first + p.extent;
    }
    __device__ uint4 load(unsigned channel, unsigned piece) const {
        const T *pixel = from + channel * p.channel, *at = pixel - offset(channel) + piece * LENGTH;
        if (is_inside(at))
            return *reinterpret_cast<const uint4 *>(at);
        Vec<T, LENGTH> some = {};
#pragma unroll
        for (unsigned i = 0; i < LENGTH; ++i)
            if (at + i >= pixel && at + i < pixel + pixels)
                some.at[i] = at[i];
        return reinterpret_cast<const uint4 &>(some);
    }
    __device__ void load_pieces() const {
#pragma unroll
        for (unsigned i = threadIdx.x; i < CHANNELS * PIECES; i += TURN_THREADS) {
            const unsigned channel = i / PIECES, piece = i % PIECES;
            if (channel < channels && piece * LENGTH < offset(channel) + pixels)
                *reinterpret_cast<uint4 *>(row(channel) + piece * LENGTH) = load(channel, piece);
        }
    }
    // 16 bytes of each pixel at once.
    __device__ void store_pixels(T *to) const {
        enum { VECS = 8 };
#pragma unroll
        for (unsigned i = threadIdx.x; i < VECS * PIXELS; i += TURN_THREADS) {
            const unsigned channel = i % VECS * LENGTH, pixel = i / VECS;
            if (channel >= channels || pixel >= pixels)
                continue;
            Vec<T, LENGTH> some = {};
#pragma unroll
            for (unsigned j = 0; j < LENGTH; ++j)
                if (channel + j < channels)
                    some.at[j] = row(channel + j)[offset(channel + j) + pixel];
            store_at_once(to + uint64_t(pixel) * p.pitch + channel, some);
        }
    }
};

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

// Copies pixels of NHWC to others of p.pitch elements, by vectors of 16 bytes.
template <class T> __device__ void pad_pixels(const gr_conv_transpose &p, unsigned number) {
    enum { LENGTH = 16 / sizeof(T), VECS = GR_CONV_TRANSPOSE_VECS };
    const T *from = reinterpret_cast<const T *>(p.from);
    const unsigned vecs = unsigned(p.pitch / LENGTH), all = unsigned(p.pixels) * vecs,
                   channels = unsigned(p.channels);
    Vec<T, LENGTH> some[VECS];
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const unsigned vec = (number * VECS + i) * TURN_THREADS + threadIdx.x, pixel = vec / vecs,
                       channel = vec % vecs * LENGTH;
        const T *at = from + (int64_t(pixel) * p.outer + channel);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
            some[i].at[j] = vec < all && channel + j < channels ? at[j] : T(0);
    }
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const unsigned vec = (number * VECS + i) * TURN_THREADS + threadIdx.x;
        if (vec < all)
            store_at_once(reinterpret_cast<Vec<T, LENGTH> *>(p.to) + vec, some[i]);
    }
}

template <class T> __device__ void turn(const gr_conv_transpose &p, unsigned number) {
    if (p.tile_channels == 0) {
        pad_pixels<T>(p, number);
        return;
    }
    const unsigned across = number % p.pixel_tiles, part = number / p.pixel_tiles % p.channel_tiles;
    const uint64_t picture = number / p.pixel_tiles / p.channel_tiles,
                   first = uint64_t(part) * p.tile_channels;
    const unsigned channels = unsigned(min(uint64_t(p.tile_channels), p.channels - first));
    const uint64_t pixel = uint64_t(across) * PIXELS;
    const T *from =
        reinterpret_cast<const T *>(p.from) + int64_t(picture) * p.outer + int64_t(first) * p.channel + pixel;
    T *to = reinterpret_cast<T *>(p.to) + (picture * p.pixels + pixel) * p.pitch + first;
    if (p.unit_bytes == 0) {
        turn_run(p, from, to, channels);
        return;
    }
    const unsigned pixels = unsigned(min(uint64_t(PIXELS), p.pixels - pixel));
    if (p.unit_bytes == 1) {
        const RawTile<T> tile = {p, from, channels, pixels};
        tile.load_pieces();
        __syncthreads();
        tile.store_pixels(to);
        return;
    }
    if (p.unit_bytes == 16)
        fetch<T, uint4>(p, from, channels, pixels);
    else
        fetch<T, uint2>(p, from, channels, pixels);
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
