// general_tiles of sums of exponentials: as in ordered_tiles.cuh, but the threads of a result find its
// largest element first and then add up the exponentials less it, so that no partial results are combined.
// The order follows from t.lanes alone.
#pragma once

#include "reduce/general/ordered_tiles.cuh"
#include "reduce/ops/log_sum_exp.cuh"

namespace gr::reduce {

template <class In> __device__ void reduce_exponential_tiles(const gr_general_params &p) {
    using F = LogSumExp<In>;
    using T = typename F::T;
    using Tile = RegionTile<In>;
    constexpr unsigned at_once = 4;
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
    for (unsigned begin = 0; begin < results; begin += step) {
        const unsigned result = begin + threadIdx.x / t.lanes;
        const bool active = result < results;
        const unsigned region = t.width == 1 ? result : result / t.width;
        const unsigned base = region * t.region + (result - region * t.width) + lane * t.width;
        const unsigned char *const elements = in + base * unsigned(sizeof(In)) + region * t.gap;
        const auto value = [&](unsigned k) {
            return T(widen(*reinterpret_cast<const In *>(elements + k * stride)));
        };
        const unsigned mine = active ? (unsigned(p.count) - lane + t.lanes - 1) / t.lanes : 0;
        if (t.width > 1) { // columns: see lanes.cuh
            typename F::State x = lane_of<F, In, batch_size<F, In>>(
                0u, stride, mine, [&](unsigned k) { return *reinterpret_cast<const In *>(elements + k); });
            x = combine_neighbours<F>(x, t.lanes, true);
            if (lane == 0 && active)
                put<F>(p, first * t.width + result, x);
            continue;
        }
        T most = T(-INFINITY);
        unsigned k = 0;
        const auto compare = [&](T x) { most = wins<true>(x, most) ? x : most; };
#pragma unroll 1
        for (; k + at_once <= mine; k += at_once)
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i)
                compare(value(k + i));
#pragma unroll 1
        for (; k < mine; ++k)
            compare(value(k));
        for (unsigned offset = t.lanes / 2; offset > 0; offset /= 2)
            compare(__shfl_xor_sync(0xffffffffu, most, offset));

        T sums[at_once] = {};
        uint32_t equals = 0;
        const auto add = [&](T &sum, T x) {
            const bool equal = x == most;
            equals += equal;
            sum += equal ? T(0) : exp_of(x - most);
        };
#pragma unroll 1
        for (k = 0; k + at_once <= mine; k += at_once)
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i)
                add(sums[i], value(k + i));
#pragma unroll 1
        for (; k < mine; ++k)
            add(sums[0], value(k));
        double rest = (double(sums[0]) + double(sums[1])) + (double(sums[2]) + double(sums[3]));
        for (unsigned offset = t.lanes / 2; offset > 0; offset /= 2) {
            rest += __shfl_xor_sync(0xffffffffu, rest, offset);
            equals += __shfl_xor_sync(0xffffffffu, equals, offset);
        }
        if (lane == 0 && active)
            put<F>(p, first * t.width + result, {most, (double(equals) - 1) + rest});
    }
}

} // namespace gr::reduce
