// Common parts of the direct convolutions on tensor cores: a layout of pixels and filters in shared memory
// from which wgmma can read the operands of any tap.
//
// A piece is 16 bytes: four channels of float32, eight of a half. A plane has one piece of every pixel that
// the block needs, pixel by pixel (channels interleaved by a piece, as in NC/xHWx): eight neighbours are
// eight rows of a wgmma operand, wherever they begin, so a tap is an offset. With strides along a row,
// neighbouring results need pixels a stride apart: pixels of the same remainder have a plane of their own. A
// product takes two pieces of each pixel, of the same tap or of two: its step. Filters are in the order of
// the steps, piece by piece.
#pragma once

#include "common/mma.cuh"
#include "common/shared_array.cuh"
#include "conv/conv.cuh"
#include "matmul/tma.cuh"
#include "matmul/vec16_rows.cuh"
#include "matmul/wgmma.cuh"

namespace gr::conv {

using namespace common;

// n / by, for numbers below 2^16.
struct Divider {
    unsigned by, factor;
    explicit __device__ Divider(unsigned by) : by(by), factor(0xffffffff / by + 1) {
    }
    __device__ unsigned operator()(unsigned n) const {
        return by == 1 ? n : __umulhi(n, factor);
    }
};

// Stores a vector of channels as products take it: float32 as TF32, or with its lo part `apart` bytes behind.
template <class T, int PARTS> __device__ void store_channels(uint32_t at, uint32_t apart, uint4 v) {
    if (PARTS == 2)
        ptx::st_shared(at + apart, {tf32_lo(v.x), tf32_lo(v.y), tf32_lo(v.z), tf32_lo(v.w)});
    else if (sizeof(T) == 4)
        v = {ptx::cvt_rna_tf32(v.x), ptx::cvt_rna_tf32(v.y), ptx::cvt_rna_tf32(v.z), ptx::cvt_rna_tf32(v.w)};
    ptx::st_shared(at, v);
}

// PARTS: 1, or 2 for numbers that are split in hi and lo; all lo parts follow all hi parts. FILTERS: of a
// block. GROUPS of four warps, each of which makes TILES times 64 pixels.
template <class T, int PARTS, int FILTERS, int GROUPS, int TILES> struct TensorCoreConv {
    static constexpr int LENGTH = 16 / sizeof(T), WARPS = 4 * GROUPS,
                         LOADING = WARPS / 4;             // warps for filters
    static constexpr int STEP = 2 * PARTS * FILTERS * 16; // bytes of a step's filters
    typedef Vec16<T> Piece;

    const gr_conv_mma_params &tiled;
    const gr_conv_params &p;
    unsigned warp, lane, taps, stride, pieces; // pieces: planes for each remainder
    unsigned group, filter, picture;           // group of filters, its first filter in this block
    unsigned down, along;                      // the first result
    int top, left;                             // of the part of x that it reads
    uint32_t pixels, filters, table;           // in shared memory
    uint32_t part;                             // bytes of the pixels, in one of their parts
    const T *x, *w;
    bool channels_last;
    int together; // bytes of channels of a piece that lie together, and can be loaded at once

    explicit __device__ TensorCoreConv(const gr_conv_mma_params &tiled)
        : tiled(tiled), p(tiled.conv), warp(threadIdx.x / 32), lane(threadIdx.x % 32),
          taps(unsigned(p.height.kernel * p.width.kernel)), stride(unsigned(p.width.stride)),
          pieces(unsigned(tiled.vec16s)) {
        unsigned number = blockIdx.x;
        filter = next_digit(number, unsigned(tiled.filter_tiles)) * FILTERS;
        group = next_digit(number, unsigned(p.groups));
        along = next_digit(number, unsigned(tiled.blocks_x)) * unsigned(tiled.block_columns);
        down = next_digit(number, unsigned(tiled.blocks_y)) * unsigned(tiled.block_rows);
        picture = number;
        top = int(down * unsigned(p.height.stride)) - int(p.height.padding);
        left = int(along * stride) - int(p.width.padding);
        x = reinterpret_cast<const T *>(p.x) + conv_offset(p.of_x, picture, 0, 0, group * p.channels);
        w = reinterpret_cast<const T *>(p.w) + int64_t(group * p.filters + filter) * p.of_w.outer;
        channels_last = tiled.channels_last;
        const bool halves =
            channels_last && p.channels % (LENGTH / 2) == 0 && p.groups * p.channels % (LENGTH / 2) == 0;
        together = !halves ? 0 : p.channels % LENGTH == 0 && p.groups * p.channels % LENGTH == 0 ? 16 : 8;
        pixels = shared_address(shared_array<unsigned char>());
        const unsigned odd = taps * pieces % 2; // then a plane of zeros ends their number
        part = unsigned(tiled.plane) * (pieces * stride + odd);
        filters = pixels + PARTS * part;
        table = filters + unsigned(tiled.k_steps) * STEP;
    }

    // ---- pieces of pixels

    // LENGTH channels from `channel` on, of which those that there are lie `step` elements apart.
    template <int TOGETHER> __device__ Piece piece(const T *from, unsigned channel, int64_t step) const {
        Piece it = {};
        uint2 *halves = reinterpret_cast<uint2 *>(&it);
        if (TOGETHER == 16 && channel < p.channels)
            it = *reinterpret_cast<const Piece *>(from);
        else if (TOGETHER == 8) {
            if (channel < p.channels)
                halves[0] = *reinterpret_cast<const uint2 *>(from);
            if (channel + LENGTH / 2 < p.channels)
                halves[1] = *reinterpret_cast<const uint2 *>(from + LENGTH / 2);
        } else if (TOGETHER == 0)
#pragma unroll
            for (int i = 0; i < LENGTH; ++i)
                if (channel + i < p.channels)
                    it.element[i] = from[i * step];
        return it;
    }
    template <int TOGETHER> __device__ Piece pixel(unsigned row, unsigned column, unsigned channel) const {
        if (unsigned(top + int(row)) >= p.height.size || unsigned(left + int(column)) >= p.width.size)
            return {};
        const int at = (top + int(row)) * int(p.of_x.row) + (left + int(column)) * int(p.of_x.column) +
                       int(channel) * int(p.of_x.channel);
        return piece<TOGETHER>(x + at, channel, p.of_x.channel);
    }

    __device__ void put(uint32_t at, uint32_t apart, const Piece &piece) const {
        store_channels<T, PARTS>(at, apart, reinterpret_cast<const uint4 &>(piece));
    }

    // The pixels of the channels from `channel` on. Neighbouring threads take contiguous elements.
    template <int TOGETHER> __device__ void bring_pixels(unsigned channel) const {
        enum { THREADS = 32 * (WARPS - LOADING), AT_ONCE = (TOGETHER ? 8 : 16 / LENGTH) / PARTS };
        const unsigned columns = unsigned(tiled.columns), all = unsigned(tiled.rows) * columns * pieces;
        const Divider row_of(columns * pieces), inner(channels_last ? pieces : columns), remainder(stride);
        for (unsigned first = threadIdx.x - 32 * LOADING; first < all; first += AT_ONCE * THREADS) {
            Piece some[AT_ONCE];
            uint32_t to[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                const unsigned number = min(first + i * THREADS, all - 1), row = row_of(number),
                               in_row = number - row * row_of.by;
                const unsigned outer = inner(in_row), rest = in_row - outer * inner.by;
                const unsigned column = channels_last ? outer : rest, piece = channels_last ? rest : outer;
                const unsigned place = stride == 1 ? column : remainder(column);
                some[i] = pixel<TOGETHER>(row, column, channel + piece * LENGTH);
                to[i] = pixels + (piece * stride + column - place * stride) * unsigned(tiled.plane) +
                        (row * unsigned(tiled.pitch) + place) * 16;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
                if (first + i * THREADS < all)
                    put(to[i], part, some[i]);
        }
    }

    // ---- steps

    // What a step takes: its descriptor of pixels, less where they begin and how they go on; the tap, and in
    // the upper half the piece, of either chunk.
    struct alignas(16) Entry {
        uint32_t descriptor, chunk[2], none;
    };
    __device__ Entry *entries() const {
        return reinterpret_cast<Entry *>(shared_array<unsigned char>() + (table - pixels));
    }

    // The offset of the pixels of a chunk from the first pixel of the first plane.
    __device__ uint32_t place_of(unsigned tap, unsigned piece) const {
        const unsigned across = unsigned(p.width.kernel), j = tap % across * unsigned(p.width.dilation);
        const unsigned row = tap / across * unsigned(p.height.dilation);
        return (piece * stride + j % stride) * unsigned(tiled.plane) +
               (row * unsigned(tiled.pitch) + j / stride) * 16;
    }

    // The chunk that lies first of two is the first one. Where their number is odd, zeros are the last.
    __device__ Entry entry_of(unsigned step) const {
        const unsigned a = 2 * step, b = 2 * step + 1;
        const bool paired = b < taps * pieces;
        const uint32_t first = place_of(a % taps, a / taps);
        const uint32_t second = paired ? place_of(b % taps, b / taps) : part - unsigned(tiled.plane);
        const uint32_t of_first = a % taps | a / taps << 16;
        const uint32_t of_second = paired ? b % taps | b / taps << 16 : pieces << 16;
        if (second < first)
            return {second >> 4 | first - second >> 4 << 16, {of_second, of_first}, 0};
        return {first >> 4 | second - first >> 4 << 16, {of_first, of_second}, 0};
    }
    __device__ Entry entry(unsigned step) const {
        return entries()[step];
    }

    __device__ void make_table() const {
        for (unsigned step = threadIdx.x; step < tiled.k_steps; step += 32 * WARPS)
            entries()[step] = entry_of(step);
        // A plane of zeros, and zeros between planes, which are read, but multiplied by nothing.
        const unsigned plane = unsigned(tiled.plane), used = unsigned(tiled.rows * tiled.pitch) * 16;
        for (unsigned first = 0; first < PARTS * part; first += plane) {
            const bool whole_plane = taps * pieces % 2 == 1 && (first + plane) % part == 0;
            for (unsigned i = (whole_plane ? 0 : used) + 16 * threadIdx.x; i < plane; i += 512 * WARPS)
                ptx::st_shared(pixels + first + i, {0, 0, 0, 0});
        }
        __syncthreads();
    }

    // ---- pieces of filters

    template <int TOGETHER> __device__ void bring_filters(unsigned channel) const {
        const int64_t from_tap = channels_last ? p.channels : 1;
#pragma unroll(!TOGETHER && LENGTH > 4 ? 1 : 4)
        for (unsigned slot = warp; slot < 2 * unsigned(tiled.k_steps); slot += LOADING) {
            const Entry of = entry(slot / 2);
            const uint32_t chunk = slot % 2 ? of.chunk[1] : of.chunk[0];
            const unsigned number_of_piece = chunk >> 16, first = channel + number_of_piece * LENGTH;
            const T *from = w + (chunk & 0xffff) * from_tap + int64_t(first) * p.of_w.channel;
#pragma unroll
            for (int i = 0; i < (FILTERS + 31) / 32; ++i) {
                const unsigned number = lane + 32 * i;
                if (number >= FILTERS)
                    continue;
                Piece it = {};
                if (number_of_piece < pieces && filter + number < p.filters)
                    it = piece<TOGETHER>(from + number * p.of_w.outer, first, p.of_w.channel);
                put(filters + slot * (STEP / 2) + number * 16, FILTERS * 16, it);
            }
        }
    }

    template <int TOGETHER> __device__ void bring_pieces(unsigned channel) const {
        if (warp < LOADING)
            bring_filters<TOGETHER>(channel);
        else
            bring_pixels<TOGETHER>(channel);
    }
    // All that the products of the channels from `channel` on take; `pieces` times LENGTH of them.
    __device__ void bring(unsigned channel) const {
        if (channel > 0)
            __syncthreads(); // the products of the previous channels are done
        if (together == 16)
            bring_pieces<16>(channel);
        else if (sizeof(T) < 4 && together == 8)
            bring_pieces<8>(channel);
        else
            bring_pieces<0>(channel);
        ptx::fence_proxy_async_shared();
        __syncthreads();
    }

    // ---- the results of a group of warps

    // The first pixel of its tile number `i` in the block.
    __device__ void tile_of(int i, unsigned &row, unsigned &column) const {
        const unsigned number = threadIdx.x / 128 + GROUPS * i,
                       across = unsigned(tiled.block_columns) / (tiled.tile_8x8 ? 8 : 64);
        row = number / across * (tiled.tile_8x8 ? 8 : 1);
        column = number % across * (tiled.tile_8x8 ? 8 : 64);
    }
    __device__ uint32_t pixels_of(int i) const {
        unsigned row, column;
        tile_of(i, row, column);
        return pixels + (row * unsigned(p.height.stride * tiled.pitch) + column) * 16;
    }
    // The descriptor of a step's pixels, of a tile at 0; >> 4 of where one begins is to be added.
    __device__ uint64_t pixels_descriptor(unsigned step) const {
        const uint64_t stride_offset =
            tiled.tile_8x8 ? p.height.stride * tiled.pitch : 8; // pixels from eight to the next
        return entry(step).descriptor | stride_offset << 32;
    }
    __device__ uint64_t filters_descriptor(unsigned step) const {
        return uint64_t(filters + step * STEP >> 4) | uint64_t(PARTS * FILTERS) << 16 | uint64_t(8) << 32;
    }

    // The sums of a tile, in the distribution of wgmma: a thread has pairs of filters of two pixels.
    __device__ void store_tile(int i, const float *sums) const {
        unsigned row, column;
        tile_of(i, row, column);
        const bool pairs = p.of_out.channel == 1 && p.filters % 2 == 0 && p.out % (2 * sizeof(T)) == 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned eight = warp % 4 * 2 + h;
            const unsigned y = down + row + (tiled.tile_8x8 ? eight : 0),
                           x_ = along + column + lane / 4 + (tiled.tile_8x8 ? 0 : 8 * eight);
            if (y >= p.height.out || x_ >= p.width.out)
                continue;
            T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, picture, y, x_, group * p.filters);
#pragma unroll
            for (int j = 0; j < FILTERS / 8; ++j) {
                const unsigned first = filter + 8 * j + lane % 4 * 2;
                const float a = sums[4 * j + 2 * h], b = sums[4 * j + 2 * h + 1];
                if (pairs && first < p.filters)
                    store_at_once(to + first, Vec<T, 2>{T(a), T(b)});
                else if (!pairs) {
                    if (first < p.filters)
                        to[first * p.of_out.channel] = T(a);
                    if (first + 1 < p.filters)
                        to[(first + 1) * p.of_out.channel] = T(b);
                }
            }
        }
    }
};

// The products of pixels and filters. a: two pieces of 64 pixels, b: of twice as many filters as a thread has
// sums.
GR_MULTIPLY(multiply_pixels, float, "tf32", 12, "m64n24k8", "%12", "%13", "%14", "")
GR_MULTIPLY(multiply_pixels, float, "tf32", 16, "m64n32k8", "%16", "%17", "%18", "")
GR_MULTIPLY(multiply_pixels, float, "tf32", 24, "m64n48k8", "%24", "%25", "%26", "")
GR_MULTIPLY(multiply_pixels, float, "tf32", 32, "m64n64k8", "%32", "%33", "%34", "")
GR_MULTIPLY(multiply_pixels, float, "tf32", 64, "m64n128k8", "%64", "%65", "%66", "")
GR_MULTIPLY_HALVES(multiply_pixels, 12, "m64n24k16", "%12", "%13", "%14", ", 0, 0")
GR_MULTIPLY_HALVES(multiply_pixels, 32, "m64n64k16", "%32", "%33", "%34", ", 0, 0")
GR_MULTIPLY_HALVES(multiply_pixels, 64, "m64n128k16", "%64", "%65", "%66", ", 0, 0")

// A block of results out of single numbers: c5 and c7.
template <class T, int FILTERS, int GROUPS, int TILES>
__device__ void tensor_core_conv(const gr_conv_mma_params &p) {
    pdl_launch_dependents();
    const TensorCoreConv<T, 1, FILTERS, GROUPS, TILES> cores(p);
    cores.make_table();
    uint32_t tile[TILES];
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        tile[i] = cores.pixels_of(i) >> 4;
    pdl_wait();
    float sums[TILES][FILTERS / 2] = {};
    for (unsigned channel = 0; channel < p.conv.channels; channel += cores.pieces * cores.LENGTH) {
        cores.bring(channel);
        begin_products();
#pragma unroll 1
        for (unsigned step = 0; step < p.k_steps; ++step) {
            const uint64_t seen = cores.pixels_descriptor(step), filters = cores.filters_descriptor(step);
#pragma unroll
            for (int i = 0; i < TILES; ++i)
                multiply_pixels(T(), sums[i], seen + tile[i], filters, channel + step == 0);
        }
        commit_products();
#pragma unroll
        for (int i = 0; i < TILES; ++i)
            finish_products(sums[i]);
    }
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        cores.store_tile(i, sums[i]);
}

} // namespace gr::conv
