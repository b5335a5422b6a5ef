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
    uint64_t result, position; // as in gr_multi_array; of its first element
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

// Calls visit(segment) for the segments of a block. All threads of a block visit the same segments.
template <unsigned ItemBytes, class Visit>
__device__ void each_segment(const gr_multi_params &p, const Visit &visit) {
    constexpr uint64_t tile_elements = GR_MULTI_TILE_BYTES / ItemBytes;
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
        visit(Segment{array.address + first * ItemBytes, last - first, array.result, array.position + first});
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

// Passes a segment to an accumulator: add(vectors) of as many vectors as a thread loads at once, zeros behind
// the last one, and add_one(element). The next vectors are loaded before the present ones are added. step()
// is called by all threads of a block before each addition.
template <class In, class Accumulator>
__device__ void add_segment(const Segment &segment, Accumulator &accumulator) {
    constexpr unsigned loads = Accumulator::loads;
    const Aligned<In> part(segment);
    const Vec16<In> *from = part.vector();
    const uint64_t each = uint64_t(blockDim.x) * loads;
    Vec16<In> next[loads];
    const auto load = [&](uint64_t at) {
        const bool whole = at + each <= part.vectors;
#pragma unroll
        for (unsigned k = 0; k < loads; ++k) {
            const uint64_t number = at + k * blockDim.x + threadIdx.x;
            if (whole || number < part.vectors)
                next[k] = load_vec16(from + number);
            else
                next[k] = Vec16<In>{};
        }
    };
    if (part.vectors > 0)
        load(0);
#pragma unroll 1
    for (uint64_t at = 0; at < part.vectors; at += each) {
        Vec16<In> x[loads];
#pragma unroll
        for (unsigned k = 0; k < loads; ++k)
            x[k] = next[k];
        if (at + each < part.vectors)
            load(at + each);
        accumulator.step();
        accumulator.add(x);
    }
    accumulator.step();
    part.each_end([&](uint64_t k) { accumulator.add_one(part.first[k]); });
}

} // namespace gr::multi
