// general_tiles of variances: as in tiles.cuh, but the order of the elements of a result follows from t.lanes
// alone. Each thread takes whole vectors from shared memory, as States merge slowly, or of regions of several
// columns a lane (see lanes.cuh).
#pragma once

#include "reduce/general/ordered_tiles.cuh"
#include "reduce/general/rows.cuh"

namespace gr::reduce {

// A tile in shared memory with a gap behind each line of 128 bytes, so that threads whose elements are a
// multiple of that apart read different banks.
template <class In> struct GappedTile {
    static constexpr unsigned gap = sizeof(In) > 4 ? sizeof(In) : 4, all = GR_TILE_BYTES + 16;
    alignas(16) unsigned char bytes[all + (all / 128 + 1) * gap];

    static __device__ unsigned place(unsigned byte) {
        return byte + byte / 128 * gap;
    }
    __device__ In &at(unsigned index) {
        return *reinterpret_cast<In *>(bytes + place(index * unsigned(sizeof(In))));
    }
    __device__ void copy(unsigned index, const In *from) {
        at(index) = from[index];
    }
    __device__ void store(unsigned chunk, const Vec16<In> &x) {
        unsigned char *const to = bytes + place(16 * chunk);
        if constexpr (gap % 16 == 0)
            *reinterpret_cast<Vec16<In> *>(to) = x;
        else
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                reinterpret_cast<uint32_t *>(to)[i] = x.word(i);
    }
};

// The State of the elements of a result of which thread `lane` takes every lanes-th vector, which A
// accumulates (see reduce/accumulate.cuh), and every lanes-th of the elements behind the vectors. Elements
// are `apart` numbers from one to the next.
template <class F, class A, class In>
__device__ typename F::State in_vectors(GappedTile<In> &tile, unsigned first, unsigned apart, unsigned count,
                                        unsigned lane, unsigned lanes) {
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
    typename F::State x = A::to_state(acc);
    for (unsigned k = chunks * width + lane; k < count; k += lanes)
        x = F::combine(x, F::load(tile.at(first + k * apart), k));
    return x;
}

template <class F, class A, class In> __device__ void reduce_vector_tiles(const gr_general_params &p) {
    using State = typename F::State;
    __shared__ GappedTile<In> tile;
    const gr_tiles &t = p.tiles;
    const uint64_t first = uint64_t(blockIdx.x) * t.each;
    const unsigned regions = t.regions - first < t.each ? unsigned(t.regions - first) : t.each;
    pdl_begin(p);
    const unsigned skew = load_tile(tile, p.in + first * t.region * sizeof(In), regions * t.region);
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
            const unsigned mine = (unsigned(p.count) - lane + t.lanes - 1) / t.lanes;
            if (is_ordered<F> && t.width > 1)
                x = lane_of<F, In, batch_size<F, In>>(base + lane * t.width, t.lanes * t.width, mine,
                                                      [&](unsigned k) { return tile.at(k); });
            else
                x = in_vectors<F, A>(tile, base, t.width, unsigned(p.count), lane, t.lanes);
        }
        x = combine_neighbours<F>(x, t.lanes, is_ordered<F> && t.width > 1);
        if (lane == 0 && result < results)
            put<F>(p, first * t.width + result, x);
    }
}

// Whether vectors take less time. The variances of integers of up to 16 bits are exact in any order.
template <class In> constexpr bool has_fixed_order = std::is_floating_point<In>::value;
template <> constexpr bool has_fixed_order<gr_f16> = true;
template <> constexpr bool has_fixed_order<gr_bf16> = true;
template <> constexpr bool has_fixed_order<int32_t> = true;
template <> constexpr bool has_fixed_order<uint32_t> = true;
template <> constexpr bool has_fixed_order<int64_t> = true;
template <> constexpr bool has_fixed_order<uint64_t> = true;

template <class In> constexpr bool is_complex = false;
template <> constexpr bool is_complex<gr_c64> = true;
template <> constexpr bool is_complex<gr_c128> = true;

// The kernel `tiles`. The host has the same condition: gr_op_fixes_order.
template <class F, class A, class In> __device__ void reduce_tiles_of(const gr_general_params &p) {
    if constexpr (has_fixed_order<In>)
        reduce_vector_tiles<F, A, In>(p);
    else if constexpr (is_complex<In>)
        reduce_ordered_tiles<F, In>(p);
    else
        reduce_tiles<F, In>(p);
}

} // namespace gr::reduce
