// Lines sorted by one digit of their keys after the other, the last one first: elements that have the same
// digit stay in their order. A line that fits is a block's; the tiles of others count how many of their
// elements have each digit, from which the positions of these follow.
#include "order/order.cuh"

using namespace gr::order;

// Which lanes of a warp have the same digit. Asking for it bit by bit is faster than the instruction that
// finds it for any number.
inline __device__ unsigned lanes_alike(unsigned digit) {
    unsigned alike = 0xffffffffu;
#pragma unroll
    for (unsigned bit = 1; bit < GR_ORDER_DIGITS; bit *= 2) {
        const unsigned set = __ballot_sync(0xffffffffu, digit & bit);
        alike &= digit & bit ? set : ~set;
    }
    return alike;
}

// Where the elements of a tile go by one digit. Each warp has those that stand behind those of the warp
// before, 32 at a time.
struct Spread {
    static constexpr unsigned digits = GR_ORDER_DIGITS, warps = GR_ORDER_THREADS / 32, groups = digits / 32;
    uint16_t counts[warps][digits];
    unsigned before[digits], sums[groups];

    // Digits become ranks. Also leaves in `before` how many elements have a smaller digit of the same group
    // of 32.
    template <unsigned each> __device__ void rank(unsigned (&ranks)[each]) {
        const unsigned all = 0xffffffffu, lane = threadIdx.x % 32, lower = (1u << lane) - 1;
        uint16_t *own = counts[threadIdx.x / 32];
#pragma unroll
        for (unsigned i = 0; i < groups; ++i)
            own[i * 32 + lane] = 0;
        __syncwarp();
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned digit = ranks[j], count = own[digit];
            const unsigned alike = lanes_alike(digit), first = __popc(alike & lower);
            ranks[j] = digit << 16 | (count + first);
            __syncwarp();
            if (first == 0)
                own[digit] = uint16_t(count + __popc(alike));
            __syncwarp();
        }
        __syncthreads();
        for (unsigned d = threadIdx.x; d < digits; d += blockDim.x) {
            unsigned count = 0;
            for (unsigned w = 0; w < blockDim.x / 32; ++w) {
                const unsigned of_warp = counts[w][d];
                counts[w][d] = uint16_t(count);
                count += of_warp;
            }
            const unsigned sum = sum_up_to(count);
            before[d] = sum - count;
            if (lane == 31)
                sums[d / 32] = sum;
        }
        __syncthreads();
        const unsigned others = before_group();
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned digit = ranks[j] >> 16;
            ranks[j] = ranks[j] % 65536 + own[digit] + before[digit] + __shfl_sync(all, others, digit / 32);
        }
    }

    // The number of elements whose digit is in the groups before the lane's group.
    __device__ unsigned before_group() const {
        const unsigned lane = threadIdx.x % 32, own = lane < groups ? sums[lane] : 0;
        return sum_up_to(own) - own;
    }
};

template <class Key> __device__ unsigned digit_of(const Keys<Key> &keys, Key x, unsigned shift) {
    return unsigned(keys.of(x) >> shift) % GR_ORDER_DIGITS;
}

// Lines of up to each * blockDim.x elements, a block each. What is missing in a tile stays behind the rest.
template <class Key, unsigned each> __device__ void order_tile(const gr_order_sort_params &p) {
    constexpr unsigned most = each * GR_ORDER_THREADS;
    __shared__ Spread spread;
    __shared__ Key held[most];
    __shared__ uint16_t held_places[most];
    const Keys<Key> keys(p);
    const unsigned lane = threadIdx.x % 32, from = threadIdx.x / 32 * 32 * each + lane;
    const unsigned length = unsigned(p.length);
    for (uint64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
        const Key *in = reinterpret_cast<const Key *>(p.in) + line * p.length;
        const int64_t *places = reinterpret_cast<const int64_t *>(p.in_indices) + line * p.length;
        Key own[each];
        unsigned place[each];
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            place[j] = from + j * 32;
            own[j] = place[j] < length ? in[place[j]] : Key(0);
        }
        for (unsigned shift = 0; shift < Keys<Key>::width; shift += 8) {
            unsigned ranks[each];
#pragma unroll
            for (unsigned j = 0; j < each; ++j)
                ranks[j] = from + j * 32 < length ? digit_of(keys, own[j], shift) : GR_ORDER_DIGITS - 1;
            spread.rank(ranks);
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                held[ranks[j]] = own[j];
                held_places[ranks[j]] = uint16_t(place[j]);
            }
            __syncthreads();
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                own[j] = held[from + j * 32];
                place[j] = held_places[from + j * 32];
            }
        }
        Key *out = reinterpret_cast<Key *>(p.out) + line * p.k;
        int64_t *indices = reinterpret_cast<int64_t *>(p.indices) + line * p.k;
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = from + j * 32;
            if (i < p.k) {
                out[i] = own[j];
                indices[i] = p.in_indices != 0 ? places[place[j]] : int64_t(place[j]);
            }
        }
    }
}

// How many elements of each tile have each digit.
template <class Key> __device__ void order_tally(const gr_order_sort_params &p) {
    __shared__ unsigned counts[GR_ORDER_DIGITS];
    const Keys<Key> keys(p);
    for (uint64_t tile = blockIdx.x; tile < p.lines * p.tiles; tile += gridDim.x) {
        const uint64_t line = tile / p.tiles, number = tile - line * p.tiles;
        const uint64_t begin = number * GR_ORDER_SORT_TILE, end = min(begin + GR_ORDER_SORT_TILE, p.length);
        counts[threadIdx.x] = 0;
        __syncthreads();
        each_element(reinterpret_cast<const Key *>(p.in) + line * p.length, begin, end,
                     [&](Key x, bool there) {
                         const unsigned digit = there ? digit_of(keys, x, p.shift) : GR_ORDER_DIGITS;
                         int same;
                         __match_all_sync(0xffffffffu, digit, &same);
                         if (there && (!same || threadIdx.x % 32 == 0))
                             atomicAdd(&counts[digit], same ? 32u : 1u);
                     });
        __syncthreads();
        const uint64_t row = line * GR_ORDER_DIGITS + threadIdx.x;
        reinterpret_cast<uint64_t *>(p.counts)[row * p.tiles + number] = counts[threadIdx.x];
        __syncthreads();
    }
}

// Adds up what the tiles of each line counted, a warp each digit.
template <class Key> __device__ void order_sums(const gr_order_sort_params &p) {
    const uint64_t step = uint64_t(gridDim.x) * (blockDim.x / 32), rows = p.lines * GR_ORDER_DIGITS;
    constexpr unsigned each = 4; // loads at once
    const unsigned lane = threadIdx.x % 32;
    for (uint64_t row = uint64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32; row < rows;
         row += step) {
        uint64_t *counts = reinterpret_cast<uint64_t *>(p.counts) + row * p.tiles, before = 0;
        for (uint64_t base = 0; base < p.tiles; base += 32 * each) {
            uint64_t own[each];
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                const uint64_t i = base + j * 32 + lane;
                own[j] = i < p.tiles ? counts[i] : 0;
            }
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                const uint64_t i = base + j * 32 + lane, sum = sum_up_to(own[j]);
                if (i < p.tiles)
                    counts[i] = before + sum - own[j];
                before += __shfl_sync(0xffffffffu, sum, 31);
                if (base + (j + 1) * 32 >= p.tiles)
                    break;
            }
        }
        if (lane == 0)
            reinterpret_cast<uint64_t *>(p.sums)[row] = before;
    }
}

// Takes the elements of tiles where they belong among those of their line by a digit.
template <class Key> __device__ void order_move(const gr_order_sort_params &p) {
    constexpr unsigned each = GR_ORDER_SORT_TILE / GR_ORDER_THREADS;
    __shared__ Spread spread;
    __shared__ uint64_t starts[GR_ORDER_DIGITS], sums[Spread::groups];
    __shared__ int64_t room[GR_ORDER_SORT_TILE]; // for elements, then for their places
    const Keys<Key> keys(p);
    Key *held = reinterpret_cast<Key *>(room);
    const unsigned all = 0xffffffffu, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint64_t tile = blockIdx.x; tile < p.lines * p.tiles; tile += gridDim.x) {
        const uint64_t line = tile / p.tiles, number = tile - line * p.tiles;
        const uint64_t begin = number * GR_ORDER_SORT_TILE;
        const unsigned count = unsigned(min(uint64_t(GR_ORDER_SORT_TILE), p.length - begin));
        const Key *in = reinterpret_cast<const Key *>(p.in) + line * p.length + begin;
        const unsigned from = warp * 32 * each + lane;
        Key own[each];
        unsigned ranks[each];
#pragma unroll
        for (unsigned j = 0; j < each; ++j)
            own[j] = from + j * 32 < count ? in[from + j * 32] : Key(0);
#pragma unroll
        for (unsigned j = 0; j < each; ++j)
            ranks[j] = from + j * 32 < count ? digit_of(keys, own[j], p.shift) : GR_ORDER_DIGITS - 1;
        const uint64_t row = line * GR_ORDER_DIGITS + threadIdx.x;
        const uint64_t alike = reinterpret_cast<const uint64_t *>(p.sums)[row], sum = sum_up_to(alike);
        if (lane == 31)
            sums[warp] = sum;
        spread.rank(ranks);
        uint64_t start = sum - alike + reinterpret_cast<const uint64_t *>(p.counts)[row * p.tiles + number];
        for (unsigned w = 0; w < warp; ++w)
            start += sums[w];
        // An element's place is its rank in the tile, and this.
        starts[threadIdx.x] =
            start - (spread.before[threadIdx.x] + __shfl_sync(all, spread.before_group(), warp));
#pragma unroll
        for (unsigned j = 0; j < each; ++j)
            held[ranks[j]] = own[j];
        __syncthreads();
        Key *out = reinterpret_cast<Key *>(p.out) + line * p.length;
        unsigned digit[each];
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = j * GR_ORDER_THREADS + threadIdx.x;
            const Key x = held[i];
            digit[j] = digit_of(keys, x, p.shift);
            if (i < count)
                out[starts[digit[j]] + i] = x;
        }
        __syncthreads();
        const int64_t *places = reinterpret_cast<const int64_t *>(p.in_indices) + line * p.length + begin;
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = from + j * 32;
            if (i < count)
                room[ranks[j]] = p.in_indices != 0 ? places[i] : int64_t(begin + i);
        }
        __syncthreads();
        int64_t *indices = reinterpret_cast<int64_t *>(p.indices) + line * p.length;
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned i = j * GR_ORDER_THREADS + threadIdx.x;
            if (i < count)
                indices[starts[digit[j]] + i] = room[i];
        }
        __syncthreads();
    }
}

#define GR_ORDER_ENTRY(kernel, name, blocks, ...)                                                            \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS, blocks)                                   \
        order_##kernel##_##name(const gr_order_sort_params p) {                                              \
        pdl_begin();                                                                                         \
        __VA_ARGS__(p);                                                                                      \
    }
#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    GR_ORDER_ENTRY(tile, name, GR_ORDER_SORT_BLOCKS_PER_SM - sizeof(Key) / 8,                                \
                   order_tile<Key, GR_ORDER_SORT_TILE / GR_ORDER_THREADS>)                                   \
    GR_ORDER_ENTRY(fewer, name, GR_ORDER_BLOCKS_PER_SM,                                                      \
                   order_tile<Key, GR_ORDER_SMALL_SORT_TILE / GR_ORDER_THREADS>)                             \
    GR_ORDER_ENTRY(tally, name, GR_ORDER_BLOCKS_PER_SM, order_tally<Key>)                                    \
    GR_ORDER_ENTRY(sums, name, GR_ORDER_BLOCKS_PER_SM, order_sums<Key>)                                      \
    GR_ORDER_ENTRY(move, name, GR_ORDER_SORT_BLOCKS_PER_SM - sizeof(Key) / 8, order_move<Key>)

GR_ORDER_ENTRIES(b8, uint8_t)
GR_ORDER_ENTRIES(b16, uint16_t)
GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
