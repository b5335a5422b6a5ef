// Lines of up to 32 elements, one a thread of a warp: an element's rank is how many of its line are before
// it.
#include "order.cuh"

template <class Key> __device__ void order_small(const gr_order_params &p) {
    const Keys<Key> keys(p);
    const unsigned all = 0xffffffffu, length = unsigned(p.length), width = 1u << p.bits;
    const unsigned lane = threadIdx.x % 32, place = lane & (width - 1), begin = lane - place;
    const unsigned own = (width < 32 ? (1u << width) - 1 : all) << begin;
    const uint64_t step = uint64_t(gridDim.x) * (blockDim.x >> p.bits);
    const uint64_t rounds = (p.lines + step - 1) / step;
    uint64_t line = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) >> p.bits;
    for (uint64_t round = 0; round < rounds; ++round, line += step) {
        const bool there = line < p.lines && place < length;
        const Key element = there ? reinterpret_cast<const Key *>(p.in)[line * length + place] : Key(0);
        const Key key = there ? keys.of(element) : Keys<Key>::none;
        unsigned rank = 0;
        for (unsigned i = 0; i < length; ++i) {
            const Key other = Key(__shfl_sync(all, key, begin + i));
            rank += other < key || (other == key && i < place);
        }
        const unsigned nans = __ballot_sync(all, there && key == Keys<Key>::none) & own;
        const bool first = there && rank < p.k;
        const unsigned before = __popc(__ballot_sync(all, first) & own & ((1u << lane) - 1));
        if (p.flags & GR_ORDER_TOP) {
            if (first) {
                const uint64_t at = line * p.k + (p.flags & GR_ORDER_RANKED ? rank : before);
                reinterpret_cast<Key *>(p.out)[at] = element;
                reinterpret_cast<int64_t *>(p.indices)[at] = place;
            }
        } else if (there) {
            Key *out = reinterpret_cast<Key *>(p.out) + line * p.rank_count;
            const Key found = keys.element(nans != 0 && p.flags & GR_ORDER_NANS ? Keys<Key>::none : key);
            if (p.flags & GR_ORDER_GIVEN) {
#pragma unroll
                for (unsigned j = 0; j < GR_ORDER_RANKS; ++j)
                    if (j < p.rank_count && p.given[j] == rank)
                        out[j] = found;
            } else {
                for (uint64_t j = 0; j < p.rank_count; ++j)
                    if (given_rank(p, line, j) == rank)
                        out[j] = found;
            }
        }
    }
}

#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS)                                           \
        order_small_##name(const gr_order_params p) {                                                        \
        order_small<Key>(p);                                                                                 \
    }

GR_ORDER_ENTRIES(b8, uint8_t)
GR_ORDER_ENTRIES(b16, uint16_t)
GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
