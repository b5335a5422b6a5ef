// general_tiles: many results of few elements, all contiguous. A block copies a tile of whole regions to
// shared memory, 16 bytes per load, and reads the elements of each result from there.
#pragma once

#include "reduce/general/general.cuh"

namespace gr::reduce {

// A tile in shared memory, in which elements are contiguous.
template <class In> struct PackedTile {
    Vec16<In> *vectors;

    __device__ void copy(unsigned index, const In *from) {
        reinterpret_cast<In *>(vectors)[index] = from[index];
    }
    __device__ void store(unsigned chunk, const Vec16<In> &x) {
        vectors[chunk] = x;
    }
};

// Copies `n` elements from `address` on, to the position in the tile that has their alignment. Returns the
// index of the first one.
template <class In, template <class> class Tile>
__device__ unsigned load_tile(Tile<In> &tile, uint64_t address, unsigned n) {
    constexpr unsigned width = Vec16<In>::length, each = GR_TILE_BYTES / 16 / GR_GENERAL_THREADS;
    const unsigned skew = address % 16 / sizeof(In), end = skew + n;
    const Vec16<In> *from = reinterpret_cast<const Vec16<In> *>(address - address % 16);
    const unsigned first = skew > 0, last = end / width; // chunks that are whole
    Vec16<In> loaded[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (first + threadIdx.x + k * GR_GENERAL_THREADS < last)
            loaded[k] = from[first + threadIdx.x + k * GR_GENERAL_THREADS];
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (first + threadIdx.x + k * GR_GENERAL_THREADS < last)
            tile.store(first + threadIdx.x + k * GR_GENERAL_THREADS, loaded[k]);
    const In *const elements = reinterpret_cast<const In *>(from);
    if (first > 0 && threadIdx.x >= skew && threadIdx.x < (end < width ? end : width))
        tile.copy(threadIdx.x, elements);
    if (last >= first && threadIdx.x < end - last * width)
        tile.copy(last * width + threadIdx.x, elements);
    return skew;
}

// The best of `mine` elements of a result, `stride` apart from in[0] on, of which the first one looked at is
// number k; the positions are first + number * apart.
template <class F, class In>
__device__ typename F::State best_of_tile(const In *in, unsigned stride, unsigned mine, unsigned k,
                                          unsigned first, unsigned apart) {
    using Best = BatchAccumulator<F, In>;
    if (mine == 0)
        return F::identity();
    typename Best::T best = Best::of(in[k * stride]);
    unsigned at = k;
    for (unsigned left = mine; left > 0; --left) {
        const typename Best::T other = Best::of(in[k * stride]);
        const bool better = Best::wins(other, best) || (k < at && !Best::wins(best, other));
        best = better ? other : best;
        at = better ? k : at;
        k = k + 1 == mine ? 0 : k + 1;
    }
    return Best::win(F::identity(), best, first + at * apart);
}

// The functor that `tiles` calls: few elements may have a smaller State.
template <class F, class In> struct TileFunctor { using type = F; };

template <class Functor, class In> __device__ void reduce_tiles(const gr_general_params &p) {
    using F = typename TileFunctor<Functor, In>::type;
    using State = typename F::State;
    __shared__ Vec16<In> tile[GR_TILE_BYTES / 16 + 1];
    const gr_tiles &t = p.tiles;
    const uint64_t first = uint64_t(blockIdx.x) * t.each;
    const unsigned regions = t.regions - first < t.each ? unsigned(t.regions - first) : t.each;
    pdl_begin(p);
    PackedTile<In> packed{tile};
    const unsigned skew = load_tile(packed, p.in + first * t.region * sizeof(In), regions * t.region);
    const In *in = reinterpret_cast<const In *>(tile) + skew;
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();

    const unsigned results = regions * t.width, step = GR_GENERAL_THREADS / t.lanes;
    const unsigned lane = threadIdx.x % t.lanes, stride = t.lanes * t.width;
    const unsigned mine = (unsigned(p.count) - lane + t.lanes - 1) / t.lanes;
    for (unsigned begin = 0; begin < results; begin += step) {
        const unsigned result = begin + threadIdx.x / t.lanes;
        State x = F::identity();
        if (result < results) {
            const unsigned region = t.width == 1 ? result : result / t.width;
            const unsigned base = region * t.region + (result - region * t.width) + lane * t.width;
            // Neighbouring threads start in different places where they would meet in one bank.
            unsigned k = region >> t.rotate_shift & t.rotate_mask;
            if constexpr (BatchAccumulator<Functor, In>::contest) {
                x = best_of_tile<Functor>(in + base, stride, mine, k, lane, t.lanes);
            } else {
                for (unsigned left = mine; left > 0; --left) {
                    x = F::combine(x, F::load(in[base + k * stride], lane + k * t.lanes));
                    k = k + 1 == mine ? 0 : k + 1;
                }
            }
        }
        for (unsigned offset = t.lanes / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, t.lanes));
        if (lane == 0 && result < results)
            put<F>(p, first * t.width + result, x);
    }
}

} // namespace gr::reduce
