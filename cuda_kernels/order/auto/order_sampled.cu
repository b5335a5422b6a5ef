// Elements of a rank, or up to it, of few lines. A block selects from a line that is short. Of a long line, a
// sample gives a window of keys that has the rank almost surely (Floyd, Rivest), and one pass over the line
// keeps the elements of the window in a list. If the list does not have the rank, the selection reads the
// line instead.
#include <type_traits>

#include "grid/tickets.cuh"
#include "order/block_select.cuh"

using namespace gr::grid;
using namespace gr::order;

// Which element of a line is sample `i`: one of the i-th stratum, scattered, so that no period of the data
// meets the samples.
inline __device__ uint64_t sample_position(const gr_order_params &p, unsigned i) {
    unsigned hash = i * 2654435761u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    return i * p.length / p.samples + (uint64_t(hash) * (p.length / p.samples) >> 32);
}

// Collects the keys of a sample of each line. The last block of a line selects the ends of the window from
// it.
template <class Key> __device__ void order_sample(const gr_order_params &p) {
    constexpr unsigned each = GR_ORDER_SAMPLES_EACH;
    __shared__ BlockSelect<Key> select;
    __shared__ bool last;
    const uint64_t line = blockIdx.y;
    const unsigned samples = unsigned(p.samples), begin = blockIdx.x * blockDim.x * each + threadIdx.x;
    const Keys<Key> keys(p);
    const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
    Key *sample = reinterpret_cast<Key *>(p.list) + line * p.capacity, loaded[each];
#pragma unroll
    for (unsigned j = 0; j < each; ++j)
        loaded[j] = elements[sample_position(p, begin + j * blockDim.x)];
#pragma unroll
    for (unsigned j = 0; j < each; ++j)
        sample[begin + j * blockDim.x] = keys.of(loaded[j]);
    if (gridDim.x > 1) {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            last = draw_ticket(reinterpret_cast<unsigned *>(p.sample_tickets) + line, gridDim.x) ==
                   gridDim.x - 1;
        __syncthreads();
        if (!last)
            return;
        __threadfence();
    }
    __syncthreads();
    const Source<Key> source = {sample, nullptr, samples, samples};
    const float share = float(samples) / float(p.length);
    gr_order_window window = {0, Keys<Key>::none, 0, 0xffffffffu, 0, 0, 0};
    for (unsigned end = 0; end < 2; ++end) {
        const float rank = float(given_rank(p, line, end * (p.rank_count - 1))) * share;
        const float margin = 5 * sqrtf(rank * max(1 - rank / float(samples), 0.f)) + 6;
        const float wanted = end == 0 ? rank - margin : rank + margin;
        if (wanted < 0 || wanted >= float(samples) || (end == 0 && p.flags & GR_ORDER_TOPK))
            continue;
        const Selected<Key> found = select.run(keys.of_keys(), source, unsigned(wanted),
                                               end == 0 ? Goal::FROM : Goal::TO, unsigned(margin / 8));
        const unsigned at = found.index < samples ? unsigned(sample_position(p, found.index)) : 0xffffffffu;
        // Of a number between keys that elements have, the key of the element with these bits.
        const Key key = keys.of(keys.element(Key(found.key ^ keys.reverse)));
        if (end == 0) {
            window.first = key;
            window.first_index = found.index == 0 ? 0 : at;
        } else {
            window.last = key;
            window.last_index = at;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        reinterpret_cast<gr_order_window *>(p.window)[line] = window;
}

// Elements as unsigned integers in the order of their keys, in fewer instructions: NaNs differ from each
// other, and so do zeros of either sign.
template <class Key> struct Ordinals {
    static constexpr Key sign = Keys<Key>::sign, none = Keys<Key>::none;
    const Keys<Key> &keys;
    Key fold, flip, start, infinite; // infinite: the ordinal of infinity

    // Integers of NaNs with a negative sign follow those of the other NaNs, or precede them.
    __device__ explicit Ordinals(const Keys<Key> &keys)
        : keys(keys), fold(keys.infinity != 0 ? Key(~sign) : Key(0)),
          flip(Key((keys.infinity != 0 ? sign : keys.flip) ^ keys.reverse)), start(0), infinite(none) {
        if (keys.infinity != 0) {
            start = Key(of(Key(keys.infinity | sign)) + (keys.reverse != 0));
            infinite = of(keys.infinity);
        }
    }
    __device__ Key of(Key x) const {
        return Key((x ^ ((x & sign ? none : Key(0)) & fold) ^ flip) - start);
    }
    // The least ordinal of elements with a key, and the greatest one.
    __device__ Key first(Key key) const {
        if (key == 0)
            return 0;
        if (fold != 0 && key == none)
            return keys.reverse != 0 ? of_key(key) : Key(infinite + 1);
        return is_zero(key) ? min(of(0), of(sign)) : of_key(key);
    }
    __device__ Key last(Key key) const {
        if (key == none)
            return none;
        if (fold != 0 && key == 0)
            return keys.reverse != 0 ? Key(infinite - 1) : of_key(key);
        return is_zero(key) ? max(of(0), of(sign)) : of_key(key);
    }

  private:
    __device__ Key of_key(Key key) const {
        return of(keys.element(Key(key ^ keys.reverse)));
    }
    __device__ bool is_zero(Key key) const {
        return keys.one_zero && fold != 0 && Key(key ^ keys.reverse) == sign;
    }
};

// The window of a line and its list.
template <class Key> struct Range {
    const Keys<Key> &keys;
    Ordinals<Key> ordinals;
    gr_order_window *window;
    Key first, last, begin, width; // keys at the ends, and ordinals
    unsigned first_index, last_index;
    bool bounded; // of the elements that have the keys at the ends, some are outside the window
    Key *list;
    unsigned *list_indices;

    __device__ Range(const gr_order_params &p, const Keys<Key> &keys, uint64_t line)
        : keys(keys), ordinals(keys), window(reinterpret_cast<gr_order_window *>(p.window) + line),
          first(Key(window->first)), last(Key(window->last)), begin(ordinals.first(first)),
          width(Key(ordinals.last(last) - begin)), first_index(window->first_index),
          last_index(window->last_index), bounded(first_index != 0 || last_index != 0xffffffffu),
          list(reinterpret_cast<Key *>(p.list) + line * p.capacity),
          list_indices(reinterpret_cast<unsigned *>(p.list_indices) + line * p.capacity) {
    }
    // Returns where `count` elements go in the list.
    __device__ unsigned reserve(unsigned count) const {
        return unsigned(atomicAdd(reinterpret_cast<unsigned long long *>(&window->count),
                                  static_cast<unsigned long long>(count)));
    }
};

// Elements of a block that are not in the list yet.
template <class Key> struct Staged {
    static constexpr unsigned capacity = GR_ORDER_STAGED;
    Key keys[capacity];
    unsigned indices[capacity];
    unsigned used, filled; // elements that asked for a place, and those before the first one that had none
};

// Appends the elements of a window to the list: to shared memory first, those beyond its capacity straight to
// the list. Counts the elements below the window.
template <class Key> struct Filter {
    static constexpr unsigned all = 0xffffffffu;
    Staged<Key> &staged;
    unsigned lower;
    bool nans;

    // `count` elements per thread, of which number e is element from + e / N * step + e % N of the line.
    template <unsigned count, unsigned N>
    __device__ void take(const gr_order_params &p, const Range<Key> &range, const Key *elements,
                         const Key (&x)[count], unsigned from, unsigned step, bool there) {
        unsigned mask = 0;
#pragma unroll
        for (unsigned e = 0; e < count; ++e) {
            const Key own = range.ordinals.of(x[e]);
            nans = nans || (there && own > range.ordinals.infinite);
            lower += there && own < range.begin;
            mask |= there && Key(own - range.begin) <= range.width ? 1u << e : 0;
        }
        if (!__any_sync(all, mask != 0))
            return;
        const auto index_of = [&](unsigned bits) {
            const unsigned e = unsigned(__ffs(int(bits))) - 1;
            return from + e / N * step + e % N;
        };
        if (range.bounded)
            for (unsigned bits = mask; bits != 0; bits &= bits - 1) {
                const unsigned index = index_of(bits);
                const Key own = range.keys.of(elements[index]);
                const bool before = own == range.first && index < range.first_index;
                if (before || (own == range.last && index > range.last_index)) {
                    mask ^= bits & (0 - bits);
                    lower += before;
                }
            }
        const unsigned own = __popc(mask), sum = sum_up_to(own), total = __shfl_sync(all, sum, 31);
        if (total == 0)
            return;
        unsigned at = 0, direct = 0;
        if (threadIdx.x % 32 == 0) {
            at = atomicAdd(&staged.used, total);
            direct = at + total > Staged<Key>::capacity;
            if (direct) {
                atomicMin(&staged.filled, at);
                at = range.reserve(total);
            }
        }
        at = __shfl_sync(all, at, 0) + sum - own;
        direct = __shfl_sync(all, direct, 0);
        Key *to = direct ? range.list : staged.keys;
        unsigned *to_indices = direct ? range.list_indices : staged.indices;
        const unsigned limit = direct ? unsigned(p.capacity) : Staged<Key>::capacity;
        for (unsigned bits = mask; bits != 0 && at < limit; bits &= bits - 1, ++at) {
            const unsigned index = index_of(bits);
            to[at] = range.keys.of(elements[index]);
            if (p.list_indices != 0)
                to_indices[at] = index;
        }
    }
};

// Brings the first tile of a block into the L2 cache.
template <class Key> __device__ void prefetch_tile(const gr_order_params &p) {
    constexpr unsigned bytes = 64, line_bytes = 32;
    const char *line = reinterpret_cast<const char *>(p.in) + blockIdx.y * p.length * sizeof(Key);
    const uint64_t at = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * bytes;
    if (!(p.flags & GR_ORDER_PREFETCH))
        return;
    for (unsigned i = 0; i < bytes; i += line_bytes)
        if (at + i < p.length * sizeof(Key))
            pdl_as_comments::pdl_prefetch(line + at + i);
}

template <class Key> __device__ void order_filter(const gr_order_params &p) {
    constexpr unsigned N = 16 / sizeof(Key), loads = 4;
    using Loaded = Vec<Key, N>;
    __shared__ Staged<Key> staged;
    __shared__ unsigned base, below;
    const Keys<Key> keys(p);
    const uint64_t line = blockIdx.y;
    const Range<Key> range(p, keys, line);
    const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
    if (threadIdx.x == 0) {
        staged.used = below = 0;
        staged.filled = Staged<Key>::capacity;
    }
    __syncthreads();
    Filter<Key> filter = {staged, 0, false};
    const unsigned threads = blockDim.x, tile = threads * loads * N, length = unsigned(p.length);
    const unsigned past = unsigned(reinterpret_cast<uint64_t>(elements) % 16 / sizeof(Key));
    const unsigned head = min((N - past) % N, length), tiles = (length - head) / tile;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        const unsigned from = head + t * tile + threadIdx.x * N;
        Key x[loads * N];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) {
            const Loaded loaded = *reinterpret_cast<const Loaded *>(elements + from + j * threads * N);
#pragma unroll
            for (unsigned e = 0; e < N; ++e)
                x[j * N + e] = loaded.at[e];
        }
        filter.template take<loads * N, N>(p, range, elements, x, from, threads * N, true);
    }
    const unsigned rest = length - tiles * tile;
    for (unsigned from = blockIdx.x * threads; from < rest; from += gridDim.x * threads) {
        const unsigned i = from + threadIdx.x, at = i < head ? i : i + tiles * tile;
        const Key x[1] = {i < rest ? elements[at] : Key(0)};
        filter.template take<1, 1>(p, range, elements, x, at, 0, i < rest);
    }
    const unsigned sum = sum_up_to(filter.lower);
    if (threadIdx.x % 32 == 31 && sum != 0)
        atomicAdd(&below, sum);
    const bool nans = __syncthreads_or(filter.nans) && keys.reverse == 0;
    const unsigned count = min(staged.used, staged.filled);
    if (threadIdx.x == 0) {
        if (count != 0)
            base = range.reserve(count);
        if (below != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&range.window->below),
                      static_cast<unsigned long long>(below));
        if (nans)
            atomicOr(&range.window->nans, 1u);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count && base + i < p.capacity; i += threads) {
        range.list[base + i] = staged.keys[i];
        if (p.list_indices != 0)
            range.list_indices[base + i] = staged.indices[i];
    }
}

// The elements up to a rank, gathered by a block and sorted by index, or by key and index.
template <class Key> struct Top {
    static constexpr unsigned most = GR_ORDER_BLOCK_TOP;
    Key keys[most];
    unsigned indices[most], count;
    uint16_t order[most];
    KeyRange<Key> range;

    __device__ void gather(const Keys<Key> &of, const Source<Key> &source, const Selected<Key> &last,
                           unsigned room) {
        if (threadIdx.x == 0)
            count = 0;
        for (unsigned i = threadIdx.x; i < room; i += blockDim.x) {
            keys[i] = Keys<Key>::none;
            indices[i] = 0xffffffffu;
        }
        __syncthreads();
        source.each([&](Key element, unsigned i, bool there) {
            const Key own = of.of(element);
            const bool wins = there && (own < last.key || (own == last.key && source.index(i) <= last.index));
            const unsigned winners = __ballot_sync(0xffffffffu, wins), lane = threadIdx.x % 32;
            if (winners == 0)
                return;
            unsigned at = 0;
            if (lane == 0)
                at = atomicAdd(&count, __popc(winners));
            at = __shfl_sync(0xffffffffu, at, 0) + __popc(winners & ((1u << lane) - 1));
            if (wins && at < room) { // unless the elements are written meanwhile
                keys[at] = own;
                indices[at] = source.index(i);
            }
        });
        __syncthreads();
    }
    __device__ Key value(unsigned i, bool by_key) const {
        return by_key ? keys[i] : Key(indices[i]);
    }
    // Puts `k` elements into buckets by equal parts of the range of their values. Returns whether all buckets
    // are small.
    __device__ bool fill_buckets(BlockSelect<Key> &select, unsigned k, bool by_key) {
        KeyRange<Key> own = {Keys<Key>::none, 0};
        for (unsigned i = threadIdx.x; i < k; i += blockDim.x)
            own.add(value(i, by_key));
        own = select.of_block(own);
        if (threadIdx.x == 0)
            range = own;
        __syncthreads();
        bool crowded = false;
        for (unsigned i = threadIdx.x; i < k; i += blockDim.x)
            crowded = atomicAdd(&select.bins[bucket(select, i, by_key)], 1u) >= 16 || crowded;
        if (__syncthreads_or(crowded))
            return false;
        const unsigned first = select.bins[2 * threadIdx.x];
        const unsigned before = select.sum_before(first + select.bins[2 * threadIdx.x + 1]);
        select.bins[2 * threadIdx.x] = before;
        select.bins[2 * threadIdx.x + 1] = before + first;
        __syncthreads();
        for (unsigned i = threadIdx.x; i < k; i += blockDim.x)
            order[atomicAdd(&select.bins[bucket(select, i, by_key)], 1u)] = uint16_t(i);
        __syncthreads();
        return true;
    }
    __device__ unsigned bucket(const BlockSelect<Key> &select, unsigned i, bool by_key) const {
        const unsigned bits = range.bits(), digit = select.digit();
        return unsigned(Key(value(i, by_key) - range.least) >> (bits > digit ? bits - digit : 0));
    }
    __device__ bool precedes(unsigned i, unsigned other, bool by_key) const {
        return by_key && keys[i] != keys[other] ? keys[i] < keys[other] : indices[i] < indices[other];
    }
    // The number of elements before element i among `k`.
    __device__ unsigned rank_among(unsigned k, unsigned i, bool by_key) const {
        unsigned rank = 0;
        for (unsigned j = 0; j < k; ++j)
            rank += precedes(j, i, by_key);
        return rank;
    }
    // The number of elements before element i, once the buckets are filled.
    __device__ unsigned rank(const BlockSelect<Key> &select, unsigned i, bool by_key) const {
        const unsigned own = bucket(select, i, by_key), end = select.bins[own];
        unsigned rank = own == 0 ? 0 : select.bins[own - 1];
        for (unsigned j = rank; j < end; ++j)
            rank += precedes(order[j], i, by_key);
        return rank;
    }
    // Bitonic sort of `room` elements, a power of two. Steps of up to 32 stay within a warp.
    __device__ void sort(unsigned room, bool by_key) {
        for (unsigned size = 2; size <= room; size *= 2)
            for (unsigned step = size / 2; step > 0; step /= 2) {
                for (unsigned i = threadIdx.x; i < room / 2; i += blockDim.x) {
                    const unsigned low = (i & ~(step - 1)) * 2 + (i & (step - 1)), high = low + step;
                    const Key a = keys[low], b = keys[high];
                    const unsigned ai = indices[low], bi = indices[high];
                    const bool descends = by_key && a != b ? a > b : ai > bi;
                    if (descends == ((low & size) == 0)) {
                        keys[low] = b;
                        keys[high] = a;
                        indices[low] = bi;
                        indices[high] = ai;
                    }
                }
                if (step > 32 || (step == 1 && size >= 64))
                    __syncthreads();
                else
                    __syncwarp();
            }
        __syncthreads();
    }
};

// The least key above another one; the greatest key if there is none.
template <class Key> __device__ Key key_above(const Keys<Key> &keys, const Source<Key> &source, Key key) {
    __shared__ unsigned long long least;
    if (threadIdx.x == 0)
        least = Keys<Key>::none;
    __syncthreads();
    Key own = Keys<Key>::none;
    source.each([&](Key element, unsigned, bool there) {
        const Key other = keys.of(element);
        own = there && other > key && other < own ? other : own;
    });
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2)
        own = min(own, Key(__shfl_xor_sync(0xffffffffu, own, int(step))));
    if (threadIdx.x % 32 == 0)
        atomicMin(&least, static_cast<unsigned long long>(own));
    __syncthreads();
    return Key(least);
}

// Writes NumPy's mean of two elements, whose sum starts from 0: -0.0 becomes 0.0. That of integers is a
// double. `alone`: both are one element.
template <class Key>
__device__ void write_middle(const gr_order_params &p, uint64_t line, Key lower, Key upper, bool alone) {
    const auto middle = [&](auto a, auto b) { return alone ? a + 0 : (a + 0 + b) / 2; };
    double result;
    if (p.infinity == 0 && p.flags & GR_ORDER_SIGNED) {
        using Signed = typename std::make_signed<Key>::type;
        result = middle(double(Signed(lower)), double(Signed(upper)));
    } else if (p.infinity == 0) {
        result = middle(double(lower), double(upper));
    } else if (sizeof(Key) == 4) {
        const float value = middle(__uint_as_float(unsigned(lower)), __uint_as_float(unsigned(upper)));
        reinterpret_cast<float *>(p.out)[line] = value;
        return;
    } else {
        result = middle(__longlong_as_double(int64_t(lower)), __longlong_as_double(int64_t(upper)));
    }
    reinterpret_cast<double *>(p.out)[line] = result;
}

// Writes the elements up to one, by index or by key.
template <class Key>
__device__ void write_first(const gr_order_params &p, const Keys<Key> &keys, const Candidates<Key> &from,
                            const Selected<Key> &last, uint64_t line, BlockSelect<Key> &select,
                            Top<Key> &top) {
    const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
    const unsigned k = unsigned(p.k), room = k == 1 ? 1 : 2u << (31 - __clz(int(k - 1)));
    const bool by_key = p.flags & GR_ORDER_SORTED_OUTPUT;
    top.gather(from.keys, from.source, last, room);
    const bool few = k <= 32, ranked = !few && top.fill_buckets(select, k, by_key);
    if (!few && !ranked)
        top.sort(room, by_key);
    for (unsigned i = threadIdx.x; i < k; i += blockDim.x) {
        const unsigned index = top.indices[i];
        const unsigned rank = few ? top.rank_among(k, i, by_key) : ranked ? top.rank(select, i, by_key) : i;
        if (index >= p.length) // the elements are written meanwhile
            continue;
        // NaNs have one key, and so have zeros; other elements follow from their keys.
        const Key key = Key(top.keys[i] ^ keys.reverse);
        const bool shared = keys.infinity != 0 && (key == Keys<Key>::none || key == Keys<Key>::sign);
        reinterpret_cast<Key *>(p.out)[line * p.k + rank] = shared ? elements[index] : keys.element(key);
        reinterpret_cast<int64_t *>(p.indices)[line * p.k + rank] = index;
    }
}

// One or two adjacent ranks of a line, or the elements up to one, by a block.
template <class Key> __device__ void order_block(const gr_order_params &p) {
    __shared__ BlockSelect<Key> select;
    __shared__ Top<Key> top;
    const Keys<Key> keys(p);
    for (uint64_t line = blockIdx.x; line < p.lines; line += gridDim.x) {
        const Key *elements = reinterpret_cast<const Key *>(p.in) + line * p.length;
        if (p.flags & GR_ORDER_COUNTS_LINES)
            write_valid_count(p, line, [&] {
                const Source<Key> source = {elements, nullptr, unsigned(p.length), unsigned(p.length)};
                unsigned valid = 0;
                source.each([&](Key element, unsigned, bool there) {
                    valid += there && keys.of(element) != Keys<Key>::none;
                });
                return valid;
            });
        const Candidates<Key> from(p, line);
        const uint64_t rank = given_rank(p, line, 0);
        const bool topk = p.flags & GR_ORDER_TOPK;
        const Selected<Key> found =
            select.run(from.keys, from.source, unsigned(rank - from.below), topk ? Goal::TO : Goal::KEY);
        if (topk) {
            write_first(p, keys, from, found, line, select, top);
        } else {
            const bool spoilt = (found.nans || from.nans) && p.flags & GR_ORDER_PROPAGATE_NAN;
            const uint64_t last = given_rank(p, line, p.rank_count - 1);
            const Key next =
                last == rank || found.repeated ? found.key : key_above(from.keys, from.source, found.key);
            const Key lower = keys.element(spoilt ? Keys<Key>::none : found.key);
            const Key upper = keys.element(spoilt ? Keys<Key>::none : next);
            if (p.flags & GR_ORDER_MIDDLE_RESULT) {
                if (threadIdx.x == 0)
                    write_middle(p, line, lower, upper, last == rank);
            } else if (threadIdx.x < p.rank_count) {
                reinterpret_cast<Key *>(p.out)[line * p.rank_count + threadIdx.x] =
                    threadIdx.x == 0 ? lower : upper;
            }
        }
        __syncthreads();
    }
}

#define GR_ORDER_ENTRY(kernel, name, Key, threads, blocks)                                                   \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                            \
        order_##kernel##_##name(const gr_order_params p) {                                                   \
        pdl_begin();                                                                                         \
        order_##kernel<Key>(p);                                                                              \
    }
#define GR_ORDER_ENTRIES(name, Key)                                                                          \
    GR_ORDER_ENTRY(sample, name, Key, GR_ORDER_BLOCK_THREADS, 1)                                             \
    extern "C" __global__ void __launch_bounds__(GR_ORDER_THREADS, GR_ORDER_BLOCKS_PER_SM)                   \
        order_filter_##name(const gr_order_params p) {                                                       \
        pdl_as_comments::pdl_launch_dependents();                                                            \
        prefetch_tile<Key>(p);                                                                               \
        pdl_as_comments::pdl_wait();                                                                         \
        order_filter<Key>(p);                                                                                \
    }                                                                                                        \
    GR_ORDER_ENTRY(block, name, Key, GR_ORDER_BLOCK_THREADS, 1)

GR_ORDER_ENTRIES(b32, uint32_t)
GR_ORDER_ENTRIES(b64, uint64_t)
