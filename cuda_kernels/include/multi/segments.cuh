// Distributes the elements of a list of arrays over blocks: each block takes consecutive tiles, and so a
// consecutive part (segment) of each of a few arrays.
#pragma once

#include "common/vec16.cuh"
#include "multi/params.h"

namespace gr::multi {

using namespace common;

// A part of an array.
struct Segment {
    uint64_t address, count;   // of its first element; elements
    uint64_t result, position; // as in gr_multi_array
    uint64_t first;            // number of its first element in the array
};

// The last array that begins at a tile or before it.
inline __device__ uint64_t find_array(const gr_multi_params &p, const gr_multi_array *table, uint64_t tile) {
    uint64_t low = 0, high = p.arrays;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if (table[middle].first_tile <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Calls visit(segment) for the segments of a block, whose elements have `item_bytes`. All threads of a block
// visit the same segments.
template <class Visit>
__device__ void each_segment(const gr_multi_params &p, unsigned item_bytes, const Visit &visit) {
    const uint64_t tile_elements = GR_MULTI_TILE_BYTES / item_bytes;
    const gr_multi_array *table = reinterpret_cast<const gr_multi_array *>(p.table) + p.first;
    const uint64_t end = p.tiles * (blockIdx.x + 1) / gridDim.x;
    uint64_t tile = p.tiles * blockIdx.x / gridDim.x;
    if (tile >= end)
        return;
#pragma unroll 1
    for (uint64_t i = find_array(p, table, tile); tile < end; ++i) {
        const gr_multi_array array = table[i];
        const uint64_t behind = min(i + 1 < p.arrays ? table[i + 1].first_tile : p.tiles, end);
        const uint64_t first = (tile - array.first_tile) * tile_elements;
        const uint64_t last = min((behind - array.first_tile) * tile_elements, array.count);
        visit(Segment{array.address + first * item_bytes, last - first, array.result, array.position, first});
        tile = behind;
    }
}

// The vectors of a segment, aligned to 16 bytes, and the few elements before and behind them.
template <class In> struct Aligned {
    static constexpr unsigned width = 16 / sizeof(In);
    In *first;
    uint64_t count, head, vectors;

    __device__ Aligned(const Segment &segment)
        : first(reinterpret_cast<In *>(segment.address)), count(segment.count) {
        const uint64_t skew = (16 - segment.address % 16) % 16 / sizeof(In);
        head = min(skew, count);
        vectors = (count - head) / width;
    }
    __device__ Vec16<In> *vector() const {
        return reinterpret_cast<Vec16<In> *>(first + head);
    }
    // Calls visit(k) for the number of the element of a thread before or behind the vectors, if it has one.
    template <class Visit> __device__ void each_end(const Visit &visit) const {
        const uint64_t behind = head + vectors * width;
        if (threadIdx.x < head)
            visit(threadIdx.x);
        if (threadIdx.x < count - behind)
            visit(behind + threadIdx.x);
    }
};

// Passes a segment to an accumulator: add(vectors) of Accumulator::batch vectors of a thread, zeros behind
// the last one, and add_one(element). A thread has Accumulator::loads vectors in flight: those that it has
// added are loaded anew at once. step() is called by all threads of a block before `loads` vectors and the
// ends.
template <class In, class Accumulator>
__device__ void add_segment(const Segment &segment, Accumulator &accumulator) {
    constexpr unsigned loads = Accumulator::loads, batch = Accumulator::batch;
    const Aligned<In> part(segment);
    const unsigned threads = blockDim.x, each = threads * loads;
    const Vec16<In> *from = part.vector() + threadIdx.x;
    Vec16<In> x[loads];
    // Vectors `first` and the next ones of a tile, of which there are `count` vectors or more.
    const auto load = [&](unsigned first, uint64_t count) {
        if (count >= each) {
#pragma unroll
            for (unsigned k = 0; k < batch; ++k)
                x[first + k] = load_vec16(from + (first + k) * threads);
        } else {
#pragma unroll
            for (unsigned k = 0; k < batch; ++k)
                x[first + k] = (first + k) * threads + threadIdx.x < count
                                   ? load_vec16(from + (first + k) * threads)
                                   : Vec16<In>{};
        }
    };
    uint64_t left = part.vectors; // from the present tile on
#pragma unroll
    for (unsigned first = 0; first < loads; first += batch)
        load(first, left);
#pragma unroll 1
    while (left > 0) {
        const uint64_t behind = left > each ? left - each : 0;
        from += each;
        accumulator.step();
#pragma unroll
        for (unsigned first = 0; first < loads; first += batch) {
            if (first * threads < left)
                accumulator.add(x + first);
            load(first, behind);
            __syncwarp(); // or ptxas puts all loads at the end
        }
        left = behind;
    }
    accumulator.step();
    part.each_end([&](uint64_t k) { accumulator.add_one(part.first[k]); });
}

} // namespace gr::multi
