// general_tiles of sums and products of floating-point numbers: as in tiles.cuh, but a thread takes its
// elements from the first one on, in every region. Regions that are whole vectors have a gap behind them in
// shared memory, so that threads whose elements are a region apart read different banks.
#pragma once

#include "reduce/general/tiles.cuh"

namespace gr::reduce {

// A tile with gaps of GAP bytes, and where its elements are, from that of region 0 on.
template <class In> struct RegionTile {
    static constexpr unsigned gap = sizeof(In) > 4 ? sizeof(In) : 4, width = Vec16<In>::length;
    static constexpr unsigned bytes = GR_TILE_BYTES + GR_TILE_BYTES / 16 * gap + 16; // of regions of 16 bytes
    using Unit = typename std::conditional<gap == 4, uint32_t, In>::type;

    // Copies one vector, of which element 0 is number `e` behind the first region's first one.
    static __device__ void store(unsigned char *to, const gr_tiles &t, unsigned e, bool whole, Vec16<In> x) {
        constexpr unsigned units = 16 / gap, each = width / units;
        Vec16Words all;
        all.vector = x;
        unsigned region = __umulhi(e, t.by_region);
#pragma unroll
        for (unsigned u = 0; u < units; ++u) {
            if (!whole)
                region = __umulhi(e + u * each, t.by_region);
            *reinterpret_cast<Unit *>(to + (e + u * each) * unsigned(sizeof(In)) + region * gap) =
                all.unit[u];
        }
    }
    // Copies `n` elements from `address` on.
    static __device__ void load(unsigned char *to, const gr_tiles &t, uint64_t address, unsigned n) {
        constexpr unsigned each = GR_TILE_BYTES / 16 / GR_GENERAL_THREADS;
        const unsigned skew = address % 16 / sizeof(In), end = skew + n;
        const Vec16<In> *from = reinterpret_cast<const Vec16<In> *>(address - address % 16);
        const unsigned first = skew > 0, last = end / width; // vectors that are whole
        Vec16<In> loaded[each];
#pragma unroll
        for (unsigned k = 0; k < each; ++k)
            if (first + threadIdx.x + k * GR_GENERAL_THREADS < last)
                loaded[k] = from[first + threadIdx.x + k * GR_GENERAL_THREADS];
#pragma unroll
        for (unsigned k = 0; k < each; ++k) {
            const unsigned vector = first + threadIdx.x + k * GR_GENERAL_THREADS;
            if (vector < last)
                store(to, t, vector * width - skew, skew == 0, loaded[k]);
        }
        const In *const elements = reinterpret_cast<const In *>(from);
        const auto single = [&](unsigned i) {
            const unsigned e = i - skew, region = __umulhi(e, t.by_region);
            *reinterpret_cast<In *>(to + e * unsigned(sizeof(In)) + region * gap) = elements[i];
        };
        if (first > 0 && threadIdx.x >= skew && threadIdx.x < (end < width ? end : width))
            single(threadIdx.x);
        if (last >= first && threadIdx.x < end - last * width)
            single(last * width + threadIdx.x);
    }
    union Vec16Words {
        Vec16<In> vector;
        Unit unit[16 / gap];
        __device__ Vec16Words() {
        }
    };
};

template <class F, class In> __device__ void reduce_ordered_tiles(const gr_general_params &p) {
    using State = typename F::State;
    using Tile = RegionTile<In>;
    __shared__ alignas(16) unsigned char tile[Tile::bytes];
    const gr_tiles &t = p.tiles;
    const uint64_t first = uint64_t(blockIdx.x) * t.each, address = p.in + first * t.region * sizeof(In);
    const unsigned regions = t.regions - first < t.each ? unsigned(t.regions - first) : t.each;
    const unsigned gap = t.by_region > 0 ? Tile::gap : 0;
    const unsigned char *in = tile;
    pdl_begin(p);
    if (gap > 0)
        Tile::load(tile, t, address, regions * t.region);
    else
        in = reinterpret_cast<const unsigned char *>(
            load_tile<In>(reinterpret_cast<Vec16<In> *>(tile), address, regions * t.region));
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();

    const unsigned results = regions * t.width, step = GR_GENERAL_THREADS / t.lanes;
    const unsigned lane = threadIdx.x % t.lanes, stride = t.lanes * t.width * unsigned(sizeof(In));
    const unsigned mine = (unsigned(p.count) - lane + t.lanes - 1) / t.lanes;
    for (unsigned begin = 0; begin < results; begin += step) {
        const unsigned result = begin + threadIdx.x / t.lanes;
        State x = F::identity();
        if (result < results) {
            const unsigned region = t.width == 1 ? result : result / t.width;
            const unsigned base = region * t.region + (result - region * t.width) + lane * t.width;
            const unsigned char *at = in + base * unsigned(sizeof(In)) + region * gap;
            unsigned left = mine;
#pragma unroll 1
            for (; left >= 4; left -= 4) {
                In loaded[4];
#pragma unroll
                for (unsigned k = 0; k < 4; ++k, at += stride)
                    loaded[k] = *reinterpret_cast<const In *>(at);
#pragma unroll
                for (unsigned k = 0; k < 4; ++k)
                    x = F::combine(x, F::load(loaded[k], 0));
            }
#pragma unroll 1
            for (; left > 0; --left, at += stride)
                x = F::combine(x, F::load(*reinterpret_cast<const In *>(at), 0));
        }
        for (unsigned offset = t.lanes / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, t.lanes));
        if (lane == 0 && result < results)
            put<F>(p, first * t.width + result, x);
    }
}

} // namespace gr::reduce
