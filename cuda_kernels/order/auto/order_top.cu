// The first elements of lines in some order, and where they stand: gathered below and at a key that is known,
// sorted in tiles, and tiles merged.
#include "order/order.cuh"

using namespace gr::order;

// How many elements stand in a part below the key of the line's rank, and how many are equal to it; or in a
// line below that of NaNs.
template <class Key>
__device__ void count_part(const gr_order_params &p, const Keys<Key> &keys, uint64_t line, Key key) {
    __shared__ unsigned long long counts[2];
    if (threadIdx.x < 2)
        counts[threadIdx.x] = 0;
    __syncthreads();
    const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
    const uint64_t begin = blockIdx.x * p.part, end = min(begin + p.part, p.length);
    unsigned own_below = 0, own_equal = 0; // of a thread, that has fewer than 2^32 elements
    each_element(elements, begin, end, [&](Key x, bool there) {
        const Key own = keys.of(x);
        own_below += there && own < key;
        own_equal += there && own == key;
    });
    const uint64_t below = __shfl_sync(0xffffffffu, sum_up_to(uint64_t(own_below)), 31);
    const uint64_t equal = __shfl_sync(0xffffffffu, sum_up_to(uint64_t(own_equal)), 31);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts[0], static_cast<unsigned long long>(below));
        atomicAdd(&counts[1], static_cast<unsigned long long>(equal));
    }
    __syncthreads();
    if (p.flags & GR_ORDER_COUNT_VALID) {
        if (threadIdx.x == 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(p.out) + line, counts[0]);
    } else if (threadIdx.x < 2)
        reinterpret_cast<uint64_t *>(p.counts)[(line * p.parts + blockIdx.x) * 2 + threadIdx.x] =
            counts[threadIdx.x];
    __syncthreads();
}

template <class Key> __device__ void order_gather(const gr_order_params &p) {
    __shared__ unsigned long long before[2];
    const Keys<Key> keys(p);
    if (p.flags & GR_ORDER_COUNT_VALID) {
        for (uint64_t line = blockIdx.y; line < p.lines; line += gridDim.y)
            count_part(p, keys, line, Keys<Key>::none);
        return;
    }
    const uint64_t line = blockIdx.y;
    const gr_order_state found = reinterpret_cast<const gr_order_state *>(p.states)[line];
    if (p.flags & GR_ORDER_COUNT_PARTS)
        return count_part(p, keys, line, Key(found.prefix));

    if (threadIdx.x < 2)
        before[threadIdx.x] = 0;
    __syncthreads();
    const uint64_t *counts = reinterpret_cast<const uint64_t *>(p.counts) + line * p.parts * 2;
    for (uint64_t part = threadIdx.x; part < blockIdx.x; part += blockDim.x)
        for (unsigned which = 0; which < 2; ++which)
            atomicAdd(&before[which], static_cast<unsigned long long>(counts[part * 2 + which]));
    __syncthreads();
    Key *out = reinterpret_cast<Key *>(p.out) + line * p.k;
    int64_t *indices = reinterpret_cast<int64_t *>(p.indices) + line * p.k;
    const uint64_t begin = blockIdx.x * p.part, end = min(begin + p.part, p.length);
    const Gather<Key> gather = {keys, Key(found.prefix), found.rest + 1, p.k, out, indices};
    gather.run(reinterpret_cast<const Key *>(p.in) + line * p.length, begin, end, before[0], before[1]);
}

// Sorts tiles of the `k` elements of each line, those with one key by their index, in whose order they come.
template <class Key> __device__ void order_sort(const gr_order_params &p) {
    constexpr unsigned most = GR_ORDER_NETWORK_TILE, each = most / GR_ORDER_THREADS;
    __shared__ Key sorted[most];
    __shared__ uint16_t places[most];
    const Keys<Key> keys(p);
    const uint64_t tiles = (p.k + most - 1) / most;
    for (uint64_t tile = blockIdx.x; tile < p.lines * tiles; tile += gridDim.x) {
        const uint64_t line = tile / tiles, from = (tile - line * tiles) * most;
        const unsigned count = unsigned(min(uint64_t(most), p.k - from));
        Key *elements = reinterpret_cast<Key *>(p.out) + line * p.k + from;
        int64_t *indices = reinterpret_cast<int64_t *>(p.indices) + line * p.k + from;
        unsigned room = 1;
        while (room < count)
            room *= 2;
        for (unsigned i = threadIdx.x; i < room; i += blockDim.x) {
            sorted[i] = i < count ? keys.of(elements[i]) : Keys<Key>::none;
            places[i] = uint16_t(i);
        }
        __syncthreads();
        for (unsigned size = 2; size <= room; size *= 2)
            for (unsigned step = size / 2; step > 0; step /= 2) {
                for (unsigned i = threadIdx.x; i < room / 2; i += blockDim.x) {
                    const unsigned low = i / step * 2 * step + i % step, high = low + step;
                    const Key a = sorted[low], b = sorted[high];
                    const uint16_t at = places[low], bt = places[high];
                    const bool descends = a > b || (a == b && at > bt);
                    if (descends == ((low & size) == 0)) {
                        sorted[low] = b;
                        sorted[high] = a;
                        places[low] = bt;
                        places[high] = at;
                    }
                }
                __syncthreads();
            }
        Key held[each];
        int64_t index[each];
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = j * blockDim.x + threadIdx.x;
            if (i < count) {
                held[j] = elements[places[i]];
                index[j] = indices[places[i]];
            }
        }
        __syncthreads();
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = j * blockDim.x + threadIdx.x;
            if (i < count) {
                elements[i] = held[j];
                indices[i] = index[j];
            }
        }
        __syncthreads();
    }
}

#define GR_ORDER_ENTRY(kernel, name, Key)                                                                    \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS, GR_ORDER_BLOCKS_PER_SM)                   \
        order_##kernel##_##name(const gr_order_params p) {                                                   \
        pdl_begin();                                                                                         \
        order_##kernel<Key>(p);                                                                              \
    }
#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    GR_ORDER_ENTRY(gather, name, Key)                                                                        \
    GR_ORDER_ENTRY(sort, name, Key)

GR_ORDER_ENTRIES(b8, uint8_t)
GR_ORDER_ENTRIES(b16, uint16_t)
GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
