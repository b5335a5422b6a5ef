// general_tiles: many results of few elements, all contiguous. A block copies a tile of whole regions to
// shared memory, 16 bytes per load, and reads the elements of each result from there: t.lanes threads share
// them, in an order that depends on their number alone.
#pragma once

#include "reduce/general/rows.cuh"

namespace gr::reduce {

// Elements in shared memory. Behind each line of 128 bytes there is a gap, so that threads that read elements
// a multiple of that apart do not meet in one bank.
template <class In> struct Tile {
    static constexpr unsigned gap = sizeof(In) > 4 ? sizeof(In) : 4, all = GR_TILE_BYTES + 16;
    alignas(16) unsigned char bytes[all + (all / 128 + 1) * gap];

    static __device__ unsigned place(unsigned byte) {
        return byte + byte / 128 * gap;
    }
    __device__ In &at(unsigned index) {
        return *reinterpret_cast<In *>(bytes + place(index * unsigned(sizeof(In))));
    }
    __device__ void store(unsigned chunk, const Vec16<In> &x) {
        unsigned char *const to = bytes + place(16 * chunk);
        if constexpr (gap == 16)
            *reinterpret_cast<Vec16<In> *>(to) = x;
        else
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                reinterpret_cast<uint32_t *>(to)[i] = x.word(i);
    }
};

// Copies `n` elements from `address` on, to the place in the tile that has their alignment. Returns the
// number of the first one.
template <class In> __device__ unsigned load_tile(Tile<In> &tile, uint64_t address, unsigned n) {
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
        tile.at(threadIdx.x) = elements[threadIdx.x];
    if (last >= first && threadIdx.x < end - last * width)
        tile.at(last * width + threadIdx.x) = elements[last * width + threadIdx.x];
    return skew;
}

// The share of a thread of `count` elements, `apart` numbers from one to the next, of which `lanes` threads
// take one each in turn.
template <class F, class In>
__device__ typename F::State of_tile(Tile<In> &tile, unsigned first, unsigned apart, unsigned count,
                                     unsigned lane, unsigned lanes) {
    typename F::State x = F::identity();
    if constexpr (BatchAccumulator<F, In>::contest) {
        using Best = BatchAccumulator<F, In>;
        typename Best::T best = Best::of(tile.at(first + lane * apart));
        unsigned at = lane;
        for (unsigned k = lane + lanes; k < count; k += lanes) {
            const typename Best::T other = Best::of(tile.at(first + k * apart));
            const bool better = Best::wins(other, best);
            best = better ? other : best;
            at = better ? k : at;
        }
        x = Best::win(x, best, at);
    } else if constexpr (in_rows<VectorAccumulator<F, In>>) { // as long as a vector, as States merge slowly
        using A = VectorAccumulator<F, In>;
        constexpr unsigned width = Vec16<In>::length;
        typename A::Acc acc = A::init();
        const unsigned chunks = count / width;
        for (unsigned k = lane; k < chunks; k += lanes) {
            Vec16Elements<In> loaded;
#pragma unroll
            for (unsigned e = 0; e < width; ++e)
                loaded.element[e] = tile.at(first + (k * width + e) * apart);
            A::template accumulate<1>(acc, &loaded.chunk, 0, 0);
        }
        x = A::to_state(acc);
        for (unsigned k = chunks * width + lane; k < count; k += lanes)
            x = F::combine(x, F::load(tile.at(first + k * apart), k));
    } else {
        constexpr unsigned at_once = 4; // so many loads are in flight
        unsigned k = lane;
        for (; k + (at_once - 1) * lanes < count; k += at_once * lanes) {
            In loaded[at_once];
#pragma unroll
            for (unsigned j = 0; j < at_once; ++j)
                loaded[j] = tile.at(first + (k + j * lanes) * apart);
#pragma unroll
            for (unsigned j = 0; j < at_once; ++j)
                x = F::combine(x, F::load(loaded[j], k + j * lanes));
        }
        for (; k < count; k += lanes)
            x = F::combine(x, F::load(tile.at(first + k * apart), k));
    }
    return x;
}

template <class F, class In> __device__ void reduce_tiles(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ Tile<In> tile;
    const gr_tiles &t = p.tiles;
    const uint64_t first = uint64_t(blockIdx.x) * t.each;
    const unsigned regions = t.regions - first < t.each ? unsigned(t.regions - first) : t.each;
    pdl_begin(p);
    const unsigned skew = load_tile<In>(tile, p.in + first * t.region * sizeof(In), regions * t.region);
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();

    const unsigned results = regions * t.width, step = GR_GENERAL_THREADS / t.lanes;
    const unsigned lane = threadIdx.x % t.lanes;
    for (unsigned begin = 0; begin < results; begin += step) {
        const unsigned result = begin + threadIdx.x / t.lanes;
        State x = F::identity();
        if (result < results) {
            const unsigned region = t.width == 1 ? result : result / t.width;
            const unsigned base = skew + region * t.region + (result - region * t.width);
            x = of_tile<F, In>(tile, base, t.width, unsigned(p.count), lane, t.lanes);
        }
        for (unsigned offset = t.lanes / 2; offset > 0; offset /= 2)
            x = F::combine(x, shuffle_down(x, offset, t.lanes));
        if (lane == 0 && result < results)
            put<F>(p, first * t.width + result, x);
    }
}

} // namespace gr::reduce
