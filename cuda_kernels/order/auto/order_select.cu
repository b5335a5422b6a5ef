// Elements of given ranks, by their keys' digits from the first on: the histogram of a digit gives the
// digit that the element of a rank has, and its rank among the elements with that digit.
#include "grid/tickets.cuh"
#include "order/block_select.cuh"

using namespace gr::grid;
using namespace gr::order;

extern __shared__ __align__(16) unsigned char order_shared[];

// One digit of lines that several blocks share. Each adds what it counted to bins in global memory; the last
// one of a line finds the digits there, and leaves bins and tickets empty.
template <class Key> __device__ void order_digit(const gr_order_params &p) {
    __shared__ Ranks<Key> ranks;
    __shared__ bool last;
    const Keys<Key> keys(p);
    const uint64_t line = blockIdx.y, chunk = blockIdx.z, chunks = gridDim.z, first = chunk * p.chunk;
    gr_order_state *states = reinterpret_cast<gr_order_state *>(p.states) + line * p.rank_count + first;
    unsigned *tickets = reinterpret_cast<unsigned *>(p.tickets) + (line * chunks + chunk) * 2;
    unsigned long long *all =
        reinterpret_cast<unsigned long long *>(p.bins) + ((line * chunks + chunk) * p.chunk << p.bits);
    unsigned *bins = reinterpret_cast<unsigned *>(order_shared);
    const bool begins = p.flags & GR_ORDER_FIRST_DIGIT;

    const Candidates<Key> from(p, line);
    const unsigned count = unsigned(min(p.chunk, p.rank_count - first));
    if (threadIdx.x < count) {
        ranks.prefix[threadIdx.x] = begins ? Key(0) : Key(states[threadIdx.x].prefix);
        ranks.rest[threadIdx.x] =
            begins ? given_rank(p, line, first + threadIdx.x) - from.below : states[threadIdx.x].rest;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ranks.count = count;
        ranks.find_groups();
    }
    __syncthreads();
    const unsigned groups = ranks.groups, used = groups << p.bits;
    for (unsigned i = threadIdx.x; i < used; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();

    const Digit<Key> digit = {p.shift, p.bits, begins};
    const uint64_t length = from.listed ? from.source.count : p.length;
    const uint64_t part = from.listed ? (length + p.parts - 1) / p.parts : p.part;
    const uint64_t begin = min(blockIdx.x * part, length), end = min(begin + part, length);
    const bool nans = digit.count(from.keys, from.source.elements, begin, end, ranks, bins) || from.nans;
    const bool spread = __syncthreads_or(nans) && begins && p.flags & GR_ORDER_PROPAGATE_NAN;
    for (unsigned i = threadIdx.x; i < used; i += blockDim.x)
        if (bins[i] != 0)
            atomicAdd(&all[i], bins[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (spread)
            atomicOr(&tickets[1], 1u);
        __threadfence();
        last = draw_ticket(tickets, unsigned(p.parts)) == unsigned(p.parts) - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;

    unsigned long long *sums = reinterpret_cast<unsigned long long *>(order_shared);
    const bool spoilt = tickets[1] != 0;
    for (unsigned group = 0; group < groups; ++group) {
        for (unsigned i = threadIdx.x; i < 1u << p.bits; i += blockDim.x) {
            sums[i] = all[(group << p.bits) + i];
            all[(group << p.bits) + i] = 0;
        }
        __syncthreads();
        for (unsigned r = threadIdx.x / 32; r < count; r += blockDim.x / 32) {
            if (ranks.group[r] != group)
                continue;
            uint64_t rest = ranks.rest[r];
            const unsigned found = bin_of(sums, p.bits, rest);
            const Key prefix = begins ? Key(found) : Key(Key(ranks.prefix[r] << p.bits) | Key(found));
            if (threadIdx.x % 32 != 0)
                continue;
            if (p.flags & GR_ORDER_LAST_DIGIT && !(p.flags & GR_ORDER_TOPK))
                reinterpret_cast<Key *>(p.out)[line * p.rank_count + first + r] =
                    keys.element(spoilt ? Keys<Key>::none : prefix);
            states[r] = {prefix, rest};
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && p.flags & GR_ORDER_LAST_DIGIT)
        tickets[1] = 0;
}

// Completes keys of which the digits so far are known, if one element of a line has these digits for each
// rank; by a block.
template <class Key>
__device__ void complete_keys(const Keys<Key> &keys, const Key *line, uint64_t length, unsigned left,
                              Ranks<Key> &ranks) {
    each_element(line, 0, length, [&](Key x, bool there) {
        const Key key = keys.of(x);
        for (unsigned r = 0; r < ranks.count; ++r)
            if (there && Key(key >> left) == ranks.prefix[r])
                ranks.group_prefix[r] = key;
    });
    __syncthreads();
    if (threadIdx.x < ranks.count)
        ranks.prefix[threadIdx.x] = ranks.group_prefix[threadIdx.x];
}

// All digits of lines that are a block's each: short ones, held in shared memory, or many.
template <class Key> __device__ void order_rows(const gr_order_params &p) {
    __shared__ Ranks<Key> ranks;
    __shared__ unsigned several;                 // whether several elements have the digits so far of a rank
    constexpr bool completes = sizeof(Key) == 8; // shorter keys have too few digits for it to pay
    const Keys<Key> keys(p);
    const unsigned chunk = unsigned(p.chunk);
    unsigned *bins = reinterpret_cast<unsigned *>(order_shared);
    Key *held = reinterpret_cast<Key *>(bins + (chunk << p.bits));
    for (uint64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
        const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
        if (p.flags & GR_ORDER_IN_SHARED) {
            for (unsigned i = threadIdx.x; i < p.length; i += blockDim.x)
                held[i] = elements[i];
            elements = held;
        }
        if (p.flags & GR_ORDER_COUNTS_LINES)
            write_valid_count(p, line, [&] {
                unsigned valid = 0;
                for (unsigned i = threadIdx.x; i < p.length; i += blockDim.x)
                    valid += keys.of(held[i]) != Keys<Key>::none;
                return valid;
            });
        for (uint64_t first = 0; first < p.rank_count; first += chunk) {
            bool spoilt = false;
            const unsigned count = unsigned(min(uint64_t(chunk), p.rank_count - first));
            if (threadIdx.x < count) {
                ranks.prefix[threadIdx.x] = 0;
                ranks.rest[threadIdx.x] = given_rank(p, line, first + threadIdx.x);
            }
            if (threadIdx.x == 0)
                several = 1;
            unsigned known = 0;
            while (true) {
                __syncthreads();
                const unsigned left = Keys<Key>::width - known, bits = min(p.bits, left);
                if (left == 0 || (completes && several == 0))
                    break;
                if (threadIdx.x == 0) {
                    ranks.count = count;
                    ranks.find_groups();
                }
                __syncthreads();
                if (threadIdx.x == 0)
                    several = 0;
                for (unsigned i = threadIdx.x; i < ranks.groups << bits; i += blockDim.x)
                    bins[i] = 0;
                __syncthreads();
                const Digit<Key> digit = {left - bits, bits, known == 0};
                const bool nans = digit.count(keys, elements, 0, p.length, ranks, bins);
                if (__syncthreads_or(nans) && p.flags & GR_ORDER_PROPAGATE_NAN)
                    spoilt = true;
                for (unsigned r = threadIdx.x / 32; r < count; r += blockDim.x / 32) {
                    uint64_t rest = ranks.rest[r];
                    const unsigned *const counts = bins + (ranks.group[r] << bits);
                    const unsigned found = bin_of(counts, bits, rest);
                    __syncwarp();
                    if (threadIdx.x % 32 == 0) {
                        if (completes && counts[found] != 1)
                            atomicOr(&several, 1u);
                        ranks.prefix[r] = known == 0 ? Key(found) : Key(Key(ranks.prefix[r] << bits) | found);
                        ranks.rest[r] = rest;
                    }
                }
                known += bits;
            }
            if (completes && known < Keys<Key>::width)
                complete_keys(keys, elements, p.length, Keys<Key>::width - known, ranks);
            __syncthreads();
            if (p.flags & GR_ORDER_TOPK) {
                Key *out = reinterpret_cast<Key *>(p.out) + line * p.k;
                int64_t *indices = reinterpret_cast<int64_t *>(p.indices) + line * p.k;
                const Gather<Key> gather = {keys, ranks.prefix[0], ranks.rest[0] + 1, p.k, out, indices};
                gather.run(elements, 0, p.length, 0, 0);
            } else if (threadIdx.x < count) {
                reinterpret_cast<Key *>(p.out)[line * p.rank_count + first + threadIdx.x] =
                    keys.element(spoilt ? Keys<Key>::none : ranks.prefix[threadIdx.x]);
            }
            __syncthreads();
        }
    }
}

#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS, GR_ORDER_BLOCKS_PER_SM)                   \
        order_digit_##name(const gr_order_params p) {                                                        \
        pdl_begin();                                                                                         \
        order_digit<Key>(p);                                                                                 \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS, GR_ORDER_BLOCKS_PER_SM)                   \
        order_rows_##name(const gr_order_params p) {                                                         \
        pdl_begin();                                                                                         \
        order_rows<Key>(p);                                                                                  \
    }

GR_ORDER_ENTRIES(b8, uint8_t)
GR_ORDER_ENTRIES(b16, uint16_t)
GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
