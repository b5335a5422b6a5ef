// Lines of few elements, a warp's or less each: an element's rank is how many of its line are before it.
#include "order/order.cuh"

using namespace gr::order;

// What becomes of the elements of a line that a thread has, their ranks known: `each` of them, `stride`
// apart.
template <class Key, unsigned each> struct Ranked {
    Key element[each], key[each];
    unsigned rank[each];
    bool there[each];

    // `own` are the lanes that share the line.
    __device__ void write(const gr_order_params &p, const Keys<Key> &keys, uint64_t line, unsigned place,
                          unsigned stride, unsigned own) const {
        const unsigned all = 0xffffffffu, lower = (1u << threadIdx.x % 32) - 1;
        if (p.flags & GR_ORDER_TOPK) {
            unsigned before = 0;
#pragma unroll
            for (unsigned e = 0; e < each; ++e) {
                const bool first = there[e] && rank[e] < p.k;
                const unsigned firsts = __ballot_sync(all, first) & own;
                const uint64_t at =
                    line * p.k +
                    (p.flags & GR_ORDER_SORTED_OUTPUT ? rank[e] : before + __popc(firsts & lower));
                if (first) {
                    reinterpret_cast<Key *>(p.out)[at] = element[e];
                    reinterpret_cast<int64_t *>(p.indices)[at] = place + e * stride;
                }
                before += __popc(firsts);
            }
            return;
        }
        if (p.flags & GR_ORDER_COUNTS_LINES) {
            unsigned valid = 0;
#pragma unroll
            for (unsigned e = 0; e < each; ++e)
                valid += __popc(__ballot_sync(all, there[e] && key[e] != Keys<Key>::none) & own);
            if (there[0] && place == 0)
                reinterpret_cast<uint64_t *>(p.ranks)[line] = valid;
            __syncwarp(); // given_rank reads the count
        }
        bool nan = false;
#pragma unroll
        for (unsigned e = 0; e < each; ++e)
            nan = nan || (there[e] && key[e] == Keys<Key>::none);
        const bool spoilt = (__ballot_sync(all, nan) & own) != 0 && p.flags & GR_ORDER_PROPAGATE_NAN;
        Key *out = reinterpret_cast<Key *>(p.out) + line * p.rank_count;
#pragma unroll
        for (unsigned e = 0; e < each; ++e) {
            const Key found = keys.element(spoilt ? Keys<Key>::none : key[e]);
            if (!there[e])
                continue;
            if (p.flags & GR_ORDER_INLINE_RANKS) {
#pragma unroll
                for (unsigned j = 0; j < GR_ORDER_MAX_RANKS; ++j)
                    if (j < p.rank_count && p.inline_ranks[j] == rank[e])
                        out[j] = found;
            } else {
                for (uint64_t j = 0; j < p.rank_count; ++j)
                    if (given_rank(p, line, j) == rank[e])
                        out[j] = found;
            }
        }
    }
};

// Lines of up to 32 elements, 2^bits lanes of a warp each.
template <class Key> __device__ void order_small(const gr_order_params &p) {
    const Keys<Key> keys(p);
    const unsigned all = 0xffffffffu, length = unsigned(p.length), width = 1u << p.bits;
    const unsigned lane = threadIdx.x % 32, place = lane & (width - 1), begin = lane - place;
    const unsigned own = (width < 32 ? (1u << width) - 1 : all) << begin;
    const uint64_t step = uint64_t(gridDim.x) * (blockDim.x >> p.bits);
    const uint64_t rounds = (p.lines + step - 1) / step;
    uint64_t line = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) >> p.bits;
    for (uint64_t round = 0; round < rounds; ++round, line += step) {
        Ranked<Key, 1> found;
        const bool there = found.there[0] = line < p.lines && place < length;
        found.element[0] = there ? reinterpret_cast<const Key *>(p.in)[line * length + place] : Key(0);
        const Key key = found.key[0] = there ? keys.of(found.element[0]) : Keys<Key>::none;
        unsigned rank = 0;
        for (unsigned i = 0; i < length; ++i) {
            const Key other = Key(__shfl_sync(all, key, begin + i));
            rank += other < key || (other == key && i < place);
        }
        found.rank[0] = rank;
        found.write(p, keys, line, place, 0, own);
    }
}

// Lines of up to GR_ORDER_WARP_TILE elements, a warp each, which holds their keys in shared memory.
template <class Key> __device__ void order_few(const gr_order_params &p) {
    constexpr unsigned each = GR_ORDER_WARP_TILE / 32;
    __shared__ Key held[GR_ORDER_THREADS / 32][GR_ORDER_WARP_TILE];
    const Keys<Key> keys(p);
    const unsigned length = unsigned(p.length), lane = threadIdx.x % 32, warps = blockDim.x / 32;
    Key *others = held[threadIdx.x / 32];
    for (uint64_t line = uint64_t(blockIdx.x) * warps + threadIdx.x / 32; line < p.lines;
         line += uint64_t(gridDim.x) * warps) {
        Ranked<Key, each> found;
#pragma unroll
        for (unsigned e = 0; e < each; ++e) {
            const unsigned i = lane + e * 32;
            found.there[e] = i < length;
            found.element[e] = i < length ? reinterpret_cast<const Key *>(p.in)[line * length + i] : Key(0);
            found.key[e] = i < length ? keys.of(found.element[e]) : Keys<Key>::none;
            others[i] = found.key[e];
            found.rank[e] = 0;
        }
        __syncwarp();
#pragma unroll
        for (unsigned part = 0; part < each; ++part) {
            const unsigned count = min(32u, length - min(length, part * 32));
#pragma unroll 4
            for (unsigned i = 0; i < count; ++i) {
                const Key other = others[part * 32 + i];
#pragma unroll
                for (unsigned e = 0; e < each; ++e) {
                    const bool first = part < e || (part == e && i < lane); // then equal ones count
                    found.rank[e] += first ? other <= found.key[e] : other < found.key[e];
                }
            }
        }
        __syncwarp();
        found.write(p, keys, line, lane, 32, 0xffffffffu);
    }
}

#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS)                                           \
        order_small_##name(const gr_order_params p) {                                                        \
        pdl_begin();                                                                                         \
        order_small<Key>(p);                                                                                 \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS)                                           \
        order_few_##name(const gr_order_params p) {                                                          \
        pdl_begin();                                                                                         \
        order_few<Key>(p);                                                                                   \
    }

GR_ORDER_ENTRIES(b8, uint8_t)
GR_ORDER_ENTRIES(b16, uint16_t)
GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
