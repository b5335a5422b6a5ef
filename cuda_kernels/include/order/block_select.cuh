// Selection of the element of a rank by one block: radix select by key, then by index among equal keys.
#pragma once

#include "order/order.cuh"

namespace gr::order {

// Elements and their indices in a line. Without indices, the index of an element is its position.
template <class Key> struct Source {
    const Key *elements;
    const uint32_t *indices;
    unsigned count, length; // elements, and what all indices are less than

    __device__ unsigned index(unsigned i) const {
        return indices != nullptr ? indices[i] : i;
    }
    // Calls work(element, its position, whether there is one) by all threads of a block. Warps stay together;
    // those that have no element of a load skip it. Loads of several elements are in flight at once.
    template <class Work> __device__ void each(Work work) const {
        constexpr unsigned loads = 32 / sizeof(Key);
        const unsigned warp = threadIdx.x / 32 * 32, step = blockDim.x;
        for (unsigned base = 0; base < count; base += step * loads) {
            Key loaded[loads];
#pragma unroll
            for (unsigned j = 0; j < loads; ++j) {
                const unsigned i = base + j * step + threadIdx.x;
                loaded[j] = i < count ? elements[i] : Key(0);
            }
#pragma unroll
            for (unsigned j = 0; j < loads; ++j) {
                const unsigned i = base + j * step + threadIdx.x;
                if (base + j * step + warp < count)
                    work(loaded[j], i, i < count);
            }
        }
    }
};

// What a selection looks for, of elements in the order of their keys and, among equal ones, of their indices.
enum class Goal {
    KEY,  // the key of a rank
    FROM, // a key and an index from which on the elements of a rank, and up to `slack` before it, are
    TO    // a key and an index up to which the elements of a rank, and up to `slack` after it, are
};

template <class Key> struct Selected {
    Key key;
    unsigned index; // of the elements with this key; of FROM 0 and of others 0xffffffff if all of these count
    bool repeated;  // of KEY: the element of the next rank has the same key
    bool nans;      // an element is NaN, if keys ascend
};

template <class Key> struct KeyRange {
    Key least, greatest;

    __device__ void add(Key key) {
        least = min(least, key);
        greatest = max(greatest, key);
    }
    __device__ unsigned bits() const {
        return 64 - unsigned(__clzll(static_cast<long long>(greatest - least)));
    }
};

// Digits begin at the first bit in which keys differ. Each thread has two bins, so that a digit has one bit
// more than the number of threads.
template <class Key> struct BlockSelect {
    unsigned bins[2 * GR_ORDER_BLOCK_THREADS], totals[32];
    KeyRange<Key> ranges[32];
    unsigned bin, rest, alike; // the bin that has the rank, the rank within it, elements in it
    Key key;

    static __device__ unsigned digit() {
        return 32 - __clz(int(blockDim.x));
    }
    __device__ void clear() {
        bins[2 * threadIdx.x] = bins[2 * threadIdx.x + 1] = 0;
    }
    // The sum of what the threads before this one have.
    __device__ unsigned sum_before(unsigned own) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = sum_up_to(own);
        if (lane == 31)
            totals[warp] = sum;
        __syncthreads();
        const unsigned total = lane < blockDim.x / 32 ? totals[lane] : 0;
        return __shfl_sync(0xffffffffu, sum_up_to(total) - total, int(warp)) + sum - own;
    }
    static __device__ KeyRange<Key> of_warp(KeyRange<Key> range) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            range.least = min(range.least, Key(__shfl_xor_sync(0xffffffffu, range.least, step)));
            range.greatest = max(range.greatest, Key(__shfl_xor_sync(0xffffffffu, range.greatest, step)));
        }
        return range;
    }
    // The range of the keys of all threads.
    __device__ KeyRange<Key> of_block(KeyRange<Key> range) {
        const unsigned lane = threadIdx.x % 32;
        range = of_warp(range);
        if (lane == 0)
            ranges[threadIdx.x / 32] = range;
        __syncthreads();
        return of_warp(ranges[lane < blockDim.x / 32 ? lane : 0]);
    }
    // Finds the bin of a rank, and clears all bins.
    __device__ void find(unsigned rank) {
        const unsigned low = bins[2 * threadIdx.x], own = low + bins[2 * threadIdx.x + 1];
        clear();
        const unsigned before = sum_before(own);
        if (rank >= before && rank - before < own) {
            const bool high = rank - before >= low;
            bin = 2 * threadIdx.x + high;
            rest = rank - before - (high ? low : 0);
            alike = high ? own - low : low;
        }
        __syncthreads();
    }
    // Returns the key of the only element that has some first digits.
    __device__ Key complete(const Keys<Key> &keys, const Source<Key> &source, Key least, Key prefix,
                            Key mask) {
        source.each([&](Key element, unsigned, bool there) {
            const Key own = keys.of(element);
            if (there && ((Key(own - least) ^ prefix) & mask) == 0)
                key = own;
        });
        __syncthreads();
        return key;
    }

    __device__ Selected<Key> run(const Keys<Key> &keys, const Source<Key> &source, unsigned rank, Goal goal,
                                 unsigned slack = 0) {
        constexpr Key ones = Keys<Key>::none;
        KeyRange<Key> range = {ones, 0};
        source.each([&](Key element, unsigned, bool there) {
            if (there)
                range.add(keys.of(element));
        });
        clear();
        range = of_block(range);
        const bool nans = range.greatest == ones;
        Key least = range.least, prefix = 0, mask = 0, key = 0;
        unsigned left = range.bits(), same = source.count; // bits to find, elements with those found
        bool by_index = false;
        while (true) {
            const unsigned extra = goal == Goal::FROM ? rank : same - 1 - rank;
            const bool enough = goal != Goal::KEY && extra <= slack;
            if (left == 0 && !by_index && goal != Goal::KEY && !enough) {
                by_index = true;
                key = Key(least + prefix);
                least = prefix = mask = 0;
                left = 32 - unsigned(__clz(int(source.length)));
            } else if (left == 0 || enough) {
                const Key found = goal == Goal::FROM ? prefix : Key(prefix | Key(~mask));
                if (by_index)
                    return {key, unsigned(found), false, nans};
                return {Key(least + min(found, Key(range.greatest - least))),
                        goal == Goal::FROM ? 0 : 0xffffffffu, rank + 1 < same, nans};
            } else if (same == 1 && goal == Goal::KEY) {
                return {complete(keys, source, least, prefix, mask), 0xffffffffu, false, nans};
            }
            const unsigned bits = min(digit(), left), shift = left - bits;
            source.each([&](Key element, unsigned i, bool there) {
                const Key own = keys.of(element);
                if (!there || (by_index && own != key))
                    return;
                const Key value = by_index ? Key(source.index(i)) : Key(own - least);
                if (((value ^ prefix) & mask) == 0)
                    atomicAdd(&bins[unsigned(value >> shift) & ((1u << bits) - 1)], 1u);
            });
            __syncthreads();
            find(rank);
            rank = rest;
            same = alike;
            prefix |= Key(Key(bin) << shift);
            left = shift;
            mask = Key(ones << shift);
        }
    }
};

// Where the elements of the ranks of a line are: in the list of keys that the filter kept, or in the line.
template <class Key> struct Candidates {
    Source<Key> source;
    Keys<Key> keys; // of what the source has
    uint64_t below; // elements of the line before those of the source
    bool listed, nans;

    __device__ Candidates(const gr_order_params &p, uint64_t line)
        : source{reinterpret_cast<const Key *>(p.in) + line * p.length, nullptr, unsigned(p.length),
                 unsigned(p.length)},
          keys(p), below(0), listed(false), nans(false) {
        if (sizeof(Key) < 4 || !(p.flags & GR_ORDER_SAMPLED))
            return;
        const gr_order_window &window = reinterpret_cast<const gr_order_window *>(p.window)[line];
        const uint64_t first = given_rank(p, line, 0), last = given_rank(p, line, p.rank_count - 1);
        if (window.count > p.capacity || first < window.below || last - window.below >= window.count)
            return;
        listed = true;
        keys = keys.of_keys();
        source.elements = reinterpret_cast<const Key *>(p.list) + line * p.capacity;
        if (p.list_indices != 0)
            source.indices = reinterpret_cast<const uint32_t *>(p.list_indices) + line * p.capacity;
        source.count = unsigned(window.count);
        below = window.below;
        nans = window.nans != 0;
    }
};

} // namespace gr::order
