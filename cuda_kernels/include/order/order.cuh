// Order statistics (elements of given ranks) by radix selection: digit by digit of the elements' keys, a
// histogram gives the digit that the element of a rank has.
#pragma once

#include <cstdint>

#include "common/pdl.cuh"
#include "common/vec.cuh"
#include "order/params.h"

namespace gr::order {

using namespace common;

// Programmatic dependent launch: lets the next kernel of the stream begin, and waits for the kernel before.
inline __device__ void pdl_begin() {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
}

// Elements as unsigned integers that ascend as they do, NaNs last. NaNs have one key, and so have zeros where
// that is asked for.
template <class Key> struct Keys {
    static constexpr unsigned width = sizeof(Key) * 8;
    static constexpr Key sign = Key(Key(1) << (width - 1)), none = Key(~Key(0));
    Key infinity, flip, reverse;
    bool one_zero, truth;

    template <class Params>
    __device__ explicit Keys(const Params &p)
        : infinity(Key(p.infinity)), flip(p.flags & GR_ORDER_SIGNED ? sign : Key(0)),
          reverse(p.flags & GR_ORDER_DESCENDING ? none : Key(0)), one_zero(p.flags & GR_ORDER_EQUAL_ZEROS),
          truth(p.flags & GR_ORDER_BOOL) {
    }
    __device__ Key of(Key x) const {
        if (sizeof(Key) == 1 && truth)
            x = x != 0;
        if (infinity == 0)
            return x ^ flip ^ reverse;
        const Key size = x & Key(~sign);
        const Key key = x & sign ? Key(~x) : Key(x | sign);
        return (size > infinity ? none : one_zero && size == 0 ? sign : key) ^ reverse;
    }
    // For elements that are keys already.
    __device__ Keys of_keys() const {
        Keys same = *this;
        same.infinity = same.flip = same.reverse = 0;
        return same;
    }
    __device__ Key element(Key key) const {
        if (infinity == 0)
            return key ^ flip;
        return key & sign ? Key(key ^ sign) : Key(~key);
    }
};

// Calls work(element, whether it is one) for elements `begin` to before `end` by all threads of a block,
// warps staying together.
template <class Key, class Work>
__device__ void each_element(const Key *line, uint64_t begin, uint64_t end, Work work) {
    constexpr unsigned N = 16 / sizeof(Key), loads = N > 4 ? 16 / N : 4;
    using Loaded = Vec<Key, N>;
    const unsigned threads = blockDim.x;
    const unsigned past = reinterpret_cast<uint64_t>(line + begin) % 16 / sizeof(Key);
    if (past != 0 && begin < end) {
        const uint64_t stop = min(end, begin + N - past), i = begin + threadIdx.x;
        work(i < stop ? line[i] : Key(0), i < stop);
        begin = stop;
    }
    const uint64_t rounds = (end - begin) / (uint64_t(threads) * loads * N);
    const Loaded *vectors = reinterpret_cast<const Loaded *>(line + begin) + threadIdx.x;
    for (uint64_t round = 0; round < rounds; ++round, vectors += threads * loads) {
        Loaded loaded[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            loaded[j] = vectors[j * threads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
#pragma unroll
            for (unsigned e = 0; e < N; ++e)
                work(loaded[j].at[e], true);
    }
    for (uint64_t base = begin + rounds * threads * loads * N; base < end; base += threads) {
        const uint64_t i = base + threadIdx.x;
        work(i < end ? line[i] : Key(0), i < end);
    }
}

// Inclusive sums over the lanes of a warp.
template <class Count> __device__ Count sum_up_to(Count x) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const Count other = __shfl_up_sync(0xffffffffu, x, step);
        x += lane >= step ? other : Count(0);
    }
    return x;
}

// Of 2^bits bins, at least 32, the one that has the element of rank `rest`, which becomes its rank within
// that bin; by a warp. If the elements are written meanwhile, there may be none: then it is the last
// one.
template <class Count> __device__ unsigned bin_of(const Count *bins, unsigned bits, uint64_t &rest) {
    const unsigned lane = threadIdx.x % 32, each = 1u << (bits - 5), width = min(each, 32u);
    Count own = 0;
    for (unsigned j = 0; j < each; ++j)
        own += bins[lane * each + ((j + lane) & (each - 1))];
    Count sum = sum_up_to(own);
    unsigned found = __ballot_sync(0xffffffffu, rest < sum);
    const unsigned from = found != 0 ? __ffs(int(found)) - 1 : 31;
    rest -= __shfl_sync(0xffffffffu, sum - own, from);
    for (unsigned base = from * each; base < (from + 1) * each; base += 32) {
        own = lane < width ? bins[base + lane] : Count(0);
        sum = sum_up_to(own);
        found = __ballot_sync(0xffffffffu, rest < sum);
        if (found != 0) {
            const unsigned at = __ffs(int(found)) - 1;
            rest -= __shfl_sync(0xffffffffu, sum - own, at);
            return base + at;
        }
        rest -= __shfl_sync(0xffffffffu, sum, 31);
    }
    return (from + 1) * each - 1;
}

// The rank number `i` of a line.
inline __device__ uint64_t given_rank(const gr_order_params &p, uint64_t line, uint64_t i) {
    if (p.flags & GR_ORDER_TOPK)
        return p.k - 1;
    if (p.flags & GR_ORDER_VALID_MIDDLE) {
        const uint64_t count = reinterpret_cast<const uint64_t *>(p.ranks)[line];
        return count == 0 ? 0 : (count - 1 + i) / 2;
    }
    if (p.flags & GR_ORDER_VALID_QUANTILE) {
        const uint64_t count = reinterpret_cast<const uint64_t *>(p.ranks)[line], last = count - (count > 0);
        return min(uint64_t(double(last) * p.q) + i, last);
    }
    uint64_t rank = 0;
    if (p.flags & GR_ORDER_INLINE_RANKS) {
#pragma unroll
        for (unsigned j = 0; j < GR_ORDER_MAX_RANKS; ++j)
            rank = j == i ? p.inline_ranks[j] : rank;
        return rank;
    }
    return reinterpret_cast<const uint64_t *>(
        p.ranks)[p.flags & GR_ORDER_RANKS_PER_LINE ? line * p.rank_count + i : i];
}

// Writes the number of elements of a line that are not NaN, which given_rank reads; for a block. `count`
// returns how many of them a thread has.
template <class Count>
__device__ void write_valid_count(const gr_order_params &p, uint64_t line, const Count &count) {
    __shared__ unsigned total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads(); // the line may have been copied to shared memory
    const unsigned valid = sum_up_to(count());
    if (threadIdx.x % 32 == 31)
        atomicAdd(&total, valid);
    __syncthreads();
    if (threadIdx.x == 0)
        reinterpret_cast<uint64_t *>(p.ranks)[line] = total;
    __syncthreads();
}

// The ranks that a block searches for, in ascending order. Ranks whose digits so far are equal form a group.
template <class Key> struct Ranks {
    Key prefix[GR_ORDER_MAX_RANKS], group_prefix[GR_ORDER_MAX_RANKS];
    uint64_t rest[GR_ORDER_MAX_RANKS];
    unsigned group[GR_ORDER_MAX_RANKS];
    unsigned count, groups;

    // By one thread.
    __device__ void find_groups() {
        groups = 0;
        for (unsigned r = 0; r < count; ++r) {
            if (r == 0 || prefix[r] != prefix[r - 1])
                group_prefix[groups++] = prefix[r];
            group[r] = groups - 1;
        }
    }
};

// A digit of keys, and bins for it in shared memory.
template <class Key> struct Digit {
    unsigned shift, bits;
    bool first;

    // Counts elements of each group by their digit. Returns whether this thread saw a NaN.
    __device__ bool count(const Keys<Key> &keys, const Key *line, uint64_t begin, uint64_t end,
                          const Ranks<Key> &ranks, unsigned *bins) const {
        const unsigned groups = ranks.groups;
        const Key first_prefix = ranks.group_prefix[0],
                  second_prefix = ranks.group_prefix[groups == 2 ? 1 : 0];
        bool nans = false;
        each_element(line, begin, end, [&](Key x, bool there) {
            const Key key = keys.of(x), digit = Key(key >> shift);
            nans = nans || (there && key == Keys<Key>::none);
            unsigned slot = unsigned(digit) & ((1u << bits) - 1);
            if (!first) {
                const Key prefix = Key(digit >> bits);
                if (groups <= 2) {
                    const bool second = groups == 2 && prefix == second_prefix;
                    there = there && (prefix == first_prefix || second);
                    slot |= unsigned(second) << bits;
                } else {
                    unsigned group = 0;
                    while (group < groups && ranks.group_prefix[group] != prefix)
                        ++group;
                    there = there && group < groups;
                    slot |= group << bits;
                }
            }
            if (there)
                atomicAdd(&bins[slot], 1u); // elements of a warp in one bin take one step
        });
        return nans;
    }
};

// Puts the elements below a key, and `ties` of those equal to it, where they belong among all of a line, in
// their order. `below` and `equal` are how many stand before `begin`.
template <class Key> struct Gather {
    static constexpr unsigned each = 8, warps = GR_ORDER_THREADS / 32;

    const Keys<Key> &keys;
    Key key;
    uint64_t ties, most; // most: how many there are to be
    Key *out;
    int64_t *indices;

    __device__ void run(const Key *line, uint64_t begin, uint64_t end, uint64_t below, uint64_t equal) const {
        __shared__ unsigned counts[2][warps];
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = (1u << lane) - 1;
        const uint64_t step = blockDim.x * each;
        Key next[each];
        const auto load = [&](uint64_t from) {
#pragma unroll
            for (unsigned j = 0; j < each; ++j)
                next[j] = from + j * 32 < end ? line[from + j * 32] : Key(0);
        };
        load(begin + warp * 32 * each + lane);
        for (uint64_t base = begin; base < end; base += step) {
            const uint64_t from = base + warp * 32 * each + lane;
            Key held[each];
            unsigned is_below[each], is_equal[each], own_below = 0, own_equal = 0;
#pragma unroll
            for (unsigned j = 0; j < each; ++j)
                held[j] = next[j];
            load(from + step); // while the others are looked at
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                const bool there = from + j * 32 < end;
                is_below[j] = __ballot_sync(0xffffffffu, there && keys.of(held[j]) < key);
                is_equal[j] = __ballot_sync(0xffffffffu, there && keys.of(held[j]) == key);
                own_below += __popc(is_below[j]);
                own_equal += __popc(is_equal[j]);
            }
            if (lane == 0) {
                counts[0][warp] = own_below;
                counts[1][warp] = own_equal;
            }
            if (!__syncthreads_or(own_below + own_equal))
                continue;
            uint64_t b = below, e = equal;
            for (unsigned w = 0; w < blockDim.x / 32; ++w) {
                b += w < warp ? counts[0][w] : 0;
                e += w < warp ? counts[1][w] : 0;
                below += counts[0][w];
                equal += counts[1][w];
            }
            if (own_below + own_equal != 0) {
#pragma unroll
                for (unsigned j = 0; j < each; ++j) {
                    const uint64_t ties_before = e + __popc(is_equal[j] & before);
                    if (is_below[j] >> lane & 1 || (is_equal[j] >> lane & 1 && ties_before < ties)) {
                        const uint64_t at = b + __popc(is_below[j] & before) + min(ties_before, ties);
                        if (at < most) { // unless the elements are written meanwhile
                            out[at] = held[j];
                            indices[at] = int64_t(from + j * 32);
                        }
                    }
                    b += __popc(is_below[j]);
                    e += __popc(is_equal[j]);
                }
            }
            __syncthreads();
        }
    }
};

} // namespace gr::order
