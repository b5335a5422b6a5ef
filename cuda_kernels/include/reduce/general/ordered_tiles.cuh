// general_tiles of sums and products of floating-point numbers: as in tiles.cuh, but a thread takes its
// elements from the first one on, in every region. Regions that are whole vectors have a gap behind them in
// shared memory, so that threads whose elements are a region apart read different banks.
#pragma once

#include "reduce/general/lanes.cuh"
#include "reduce/general/tiles.cuh"

namespace gr::reduce {

// A tile with gaps of t.gap bytes, which are whole units.
template <class In> struct RegionTile {
    static constexpr unsigned unit_bytes = sizeof(In) > 4 ? sizeof(In) : 4, units = 16 / unit_bytes;
    static constexpr unsigned width = Vec16<In>::length, each = width / units;
    static constexpr unsigned bytes =
        GR_TILE_BYTES + GR_TILE_BYTES / 16 * unit_bytes + 16; // of 16-byte regions
    using Unit = typename std::conditional<unit_bytes == 4, uint32_t, In>::type;
    union Vec16Units {
        Vec16<In> vector;
        Unit unit[units];
        __device__ Vec16Units() {
        }
    };

    // Where element number `e`, from the first region's first one on, is.
    static __device__ unsigned place(const gr_tiles &t, unsigned e) {
        return e * unsigned(sizeof(In)) + __umulhi(e, t.by_region) * t.gap;
    }
    // `whole`: vectors are those of one region.
    static __device__ void store(unsigned char *to, const gr_tiles &t, unsigned e, bool whole, Vec16<In> x) {
        Vec16Units all;
        all.vector = x;
        unsigned char *at = to + place(t, e);
        if (whole && t.gap % 16 == 0) {
            *reinterpret_cast<Vec16<In> *>(at) = x;
            return;
        }
        if (sizeof(In) < 4 && e % 2 == 1) { // halves that begin between words
            Vec16Elements<In> single;
            single.chunk = x;
#pragma unroll
            for (unsigned i = 0; i < width; ++i)
                *reinterpret_cast<In *>(to + place(t, e + i)) = single.element[i];
            return;
        }
#pragma unroll
        for (unsigned u = 0; u < units; ++u)
            *reinterpret_cast<Unit *>(whole ? at + u * unit_bytes : to + place(t, e + u * each)) =
                all.unit[u];
    }
    // Copies `n` elements from `address` on.
    static __device__ void load(unsigned char *to, const gr_tiles &t, uint64_t address, unsigned n) {
        constexpr unsigned loads = GR_TILE_BYTES / 16 / GR_GENERAL_THREADS;
        const unsigned skew = address % 16 / sizeof(In), end = skew + n;
        const Vec16<In> *from = reinterpret_cast<const Vec16<In> *>(address - address % 16);
        const unsigned first = skew > 0, last = end / width; // vectors that are whole
        Vec16<In> loaded[loads];
#pragma unroll
        for (unsigned k = 0; k < loads; ++k)
            if (first + threadIdx.x + k * GR_GENERAL_THREADS < last)
                loaded[k] = from[first + threadIdx.x + k * GR_GENERAL_THREADS];
#pragma unroll
        for (unsigned k = 0; k < loads; ++k) {
            const unsigned vector = first + threadIdx.x + k * GR_GENERAL_THREADS;
            if (vector < last)
                store(to, t, vector * width - skew, skew == 0, loaded[k]);
        }
        const In *const elements = reinterpret_cast<const In *>(from);
        const auto single = [&](unsigned i) {
            *reinterpret_cast<In *>(to + place(t, i - skew)) = elements[i];
        };
        if (first > 0 && threadIdx.x >= skew && threadIdx.x < (end < width ? end : width))
            single(threadIdx.x);
        if (last >= first && threadIdx.x < end - last * width)
            single(last * width + threadIdx.x);
    }
};

template <class F, class In> __device__ void reduce_ordered_tiles(const gr_general_params &p) {
    using State = typename F::State;
    using Tile = RegionTile<In>;
    __shared__ alignas(16) unsigned char tile[Tile::bytes];
    const gr_tiles &t = p.tiles;
    const uint64_t first = uint64_t(blockIdx.x) * t.each, address = p.in + first * t.region * sizeof(In);
    const unsigned regions = t.regions - first < t.each ? unsigned(t.regions - first) : t.each;
    const unsigned char *in = tile;
    pdl_begin(p);
    if (t.gap > 0) {
        Tile::load(tile, t, address, regions * t.region);
    } else {
        PackedTile<In> packed{reinterpret_cast<Vec16<In> *>(tile)};
        in += load_tile(packed, address, regions * t.region) * sizeof(In);
    }
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
            const unsigned char *at = in + base * unsigned(sizeof(In)) + region * t.gap;
            unsigned left = mine;
            if (BatchAccumulator<F, In>::there && t.width > 1) {
                x = lane_of<F, In, batch_size<F, In>>(
                    0u, stride, mine, [&](unsigned k) { return *reinterpret_cast<const In *>(at + k); });
                left = 0;
            }
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
        x = combine_neighbours<F>(x, t.lanes, t.width > 1);
        if (lane == 0 && result < results)
            put<F>(p, first * t.width + result, x);
    }
}

} // namespace gr::reduce
