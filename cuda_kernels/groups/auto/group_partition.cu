// The first step of group sums by partitions: puts the rows of a tile in order of their partitions, in any
// order within a partition. The number of a row in its partition is what an atomic addition returns.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/sample.cuh"
#include "groups/segments.cuh"

using namespace gr::groups;

template <class Item, class Label, unsigned Each> struct Tile {
    static constexpr unsigned threads = GR_PARTITION_THREADS, rows = threads * Each, no_group = ~0u;
    const gr_partition_params &p;
    uint32_t *const begins; // [partition]: numbers of rows, then where they begin
    Item *const values;     // in order of partitions
    uint16_t *const locals;
    const uint64_t number, first; // of the tile, and its first row
    unsigned count;               // rows of the tile

    __device__ Tile(const gr_partition_params &params, uint32_t *begins)
        : p(params), begins(begins), values(shared_array<Item>()),
          locals(reinterpret_cast<uint16_t *>(values + rows)), number(blockIdx.x - 1), first(number * rows) {
        const uint64_t rest = p.sums.length - first;
        count = rest < rows ? unsigned(rest) : rows;
    }

    __device__ uint32_t group_of(Label label) const {
        return uint64_t(int64_t(label)) < p.sums.groups ? uint32_t(label) : no_group;
    }

    // The numbers of a thread's rows in their partitions: 16 bits each, as it has no more registers.
    struct Ranks {
        uint32_t pairs[Each / 2];
    };

    // Whether the first and the last row are of one partition or of neighbouring ones, as in sorted labels.
    __device__ bool seems_sorted(uint32_t first, uint32_t last) const {
        return first != no_group && last != no_group && (last >> p.shift) - (first >> p.shift) <= 1;
    }
    // Numbers the rows of each partition. If the tile seems sorted, the lanes of a warp that are all of one
    // partition take their numbers together.
    __device__ void rank(const uint32_t (&group)[Each], bool sorted, Ranks &ranks) const {
#pragma unroll
        for (unsigned i = 0; i < Each; ++i) {
            uint32_t rank = 0;
            if (sorted && are_of_one_partition(group[i])) {
                if (threadIdx.x % 32 == 0)
                    rank = atomicAdd(&begins[group[i] >> p.shift], 32u);
                rank = __shfl_sync(0xffffffffu, rank, 0) + threadIdx.x % 32;
            } else if (group[i] != no_group) {
                rank = atomicAdd(&begins[group[i] >> p.shift], 1u);
            }
            ranks.pairs[i / 2] = i % 2 == 0 ? rank : ranks.pairs[i / 2] | rank << 16;
        }
    }
    __device__ bool are_of_one_partition(uint32_t group) const {
        const uint32_t first = __shfl_sync(0xffffffffu, group, 0);
        return __all_sync(0xffffffffu, first != no_group && (group ^ first) >> p.shift == 0);
    }
    // The rows of a tile of one partition, as in sorted labels, have any order: row r goes to r * stride
    // modulo their number. So rows next to each other in the result are far apart in the labels, and mostly
    // of other groups: additions to one group wait for each other.
    static constexpr unsigned stride = 257;

    // Whether all rows have the partition of the first one; for all threads of a block.
    __device__ bool is_of_one_partition(const uint32_t (&group)[Each], uint32_t first) const {
        bool same = first != no_group && count == rows;
#pragma unroll
        for (unsigned i = 0; i < Each; ++i)
            same = same && (group[i] ^ first) >> p.shift == 0;
        return __syncthreads_and(same);
    }
    __device__ void spread(uint32_t first, Ranks &ranks) const {
        if (threadIdx.x == 0)
            begins[first >> p.shift] = rows;
#pragma unroll
        for (unsigned i = 0; i < Each; i += 2) {
            const uint32_t at = (i * threads + threadIdx.x) * stride;
            ranks.pairs[i / 2] = at % rows | (at + threads * stride) % rows << 16;
        }
    }
    // Turns the numbers of rows into where they begin, and adds them to those of all tiles.
    __device__ void begin_partitions() const {
        constexpr unsigned warps = GR_PARTITION_TABLE / 32;
        __shared__ uint32_t sums[warps];
        const unsigned i = threadIdx.x, lane = i % 32;
        const uint32_t mine = i < GR_PARTITION_TABLE ? begins[i] : 0, in_warp = warp_prefix_sum(mine);
        if (i < GR_PARTITION_TABLE && lane == 31)
            sums[i / 32] = in_warp;
        __syncthreads();
        if (i >= GR_PARTITION_TABLE)
            return;
        const uint32_t of_warps = warp_prefix_sum(lane < warps ? sums[lane] : 0);
        const uint32_t before = __shfl_sync(0xffffffffu, of_warps, (i / 32 + 31) % 32);
        const uint32_t begin = in_warp - mine + (i < 32 ? 0 : before);
        begins[i] = begin;
        reinterpret_cast<uint16_t *>(p.table)[number * GR_PARTITION_TABLE + i] = uint16_t(begin);
        if (mine != 0)
            atomicAdd(reinterpret_cast<uint32_t *>(p.state) + GR_PARTITION_ROWS + i, mine);
    }
    __device__ void place(const uint32_t (&group)[Each], const Ranks &ranks, const Item (&x)[Each]) const {
#pragma unroll
        for (unsigned i = 0; i < Each; ++i)
            if (group[i] != no_group) {
                const unsigned at = begins[group[i] >> p.shift] + (ranks.pairs[i / 2] >> i % 2 * 16 & 0xffff);
                values[at] = x[i];
                locals[at] = uint16_t(group[i] & ((1u << p.shift) - 1));
            }
    }
    // Prefetches the rows of the tile, while the kernel before ends.
    __device__ void prefetch() const {
        prefetch(reinterpret_cast<const Item *>(p.sums.in) + first);
        prefetch(reinterpret_cast<const Label *>(p.sums.labels) + first);
    }
    template <class T> __device__ void prefetch(const T *from) const {
        constexpr unsigned line = 128 / sizeof(T);
        for (unsigned i = threadIdx.x * line; i < count; i += threads * line)
            pdl_as_comments::pdl_prefetch(from + i);
    }
    template <class T> __device__ static void copy(T *to, const T *from, unsigned count) {
        constexpr unsigned each = sizeof(uint4) / sizeof(T);
        const unsigned vectors = count / each;
        for (unsigned i = threadIdx.x; i < vectors; i += threads)
            reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
        if (const unsigned i = vectors * each + threadIdx.x; i < count)
            to[i] = from[i];
    }
    __device__ void store() const {
        const unsigned count = begins[p.partitions];
        copy(reinterpret_cast<Item *>(p.values) + first, values, count);
        copy(reinterpret_cast<uint16_t *>(p.locals) + first, locals, count);
    }
};

// The first block chooses the windows.
template <class Item> __device__ void choose_for_all(const gr_partition_params &p) {
    constexpr unsigned threads = GR_PARTITION_THREADS;
    const auto choose = [&](auto element) {
        using In = decltype(element);
        const WindowChoice choice =
            choose_windows<In, threads>(p.sums, reinterpret_cast<const In *>(p.sums.in));
        if (threadIdx.x == 0)
            *choice_of(p) = choice;
    };
    if (p.sums.from == GR_GROUP_f16 && sizeof(Item) == 2)
        choose(gr_f16());
    else if (p.sums.from == GR_GROUP_bf16 && sizeof(Item) == 2)
        choose(gr_bf16());
    else if (p.sums.from == GR_GROUP_f32 && sizeof(Item) == 4)
        choose(float());
    else if (p.sums.from == GR_GROUP_f64 && sizeof(Item) == 8)
        choose(double());
}

template <class Item, class Label, unsigned Each>
__device__ void partition_tile(const gr_partition_params &p) {
    __shared__ __align__(16) uint32_t begins[GR_PARTITION_TABLE];
    constexpr unsigned threads = GR_PARTITION_THREADS;
    if (blockIdx.x == 0) {
        pdl_as_comments::pdl_wait();
        pdl_as_comments::pdl_launch_dependents();
        return choose_for_all<Item>(p);
    }
    const Tile<Item, Label, Each> tile(p, begins);
    if (threadIdx.x < GR_PARTITION_TABLE)
        begins[threadIdx.x] = 0;
    if (blockIdx.x <= GR_PARTITION_EARLY_BLOCKS)
        tile.prefetch();
    pdl_as_comments::pdl_wait();
    pdl_as_comments::pdl_launch_dependents();
    const Label *const labels = reinterpret_cast<const Label *>(p.sums.labels) + tile.first;
    const Item *const in = reinterpret_cast<const Item *>(p.sums.in) + tile.first;
    uint32_t group[Each];
    Item x[Each];
    if (tile.count == tile.rows) {
        Label label[Each];
#pragma unroll
        for (unsigned i = 0; i < Each; ++i)
            label[i] = labels[i * threads + threadIdx.x];
#pragma unroll
        for (unsigned i = 0; i < Each; ++i)
            x[i] = in[i * threads + threadIdx.x];
#pragma unroll
        for (unsigned i = 0; i < Each; ++i)
            group[i] = tile.group_of(label[i]);
    } else {
#pragma unroll
        for (unsigned i = 0; i < Each; ++i) {
            const unsigned at = i * threads + threadIdx.x;
            group[i] = at < tile.count ? tile.group_of(labels[at]) : tile.no_group;
            x[i] = at < tile.count ? in[at] : Item();
        }
    }
    typename Tile<Item, Label, Each>::Ranks ranks;
    const uint32_t first = tile.group_of(labels[0]);
    if (tile.is_of_one_partition(group, first))
        tile.spread(first, ranks);
    else
        tile.rank(group, tile.seems_sorted(first, tile.group_of(labels[tile.count - 1])), ranks);
    __syncthreads();
    tile.begin_partitions();
    __syncthreads();
    tile.place(group, ranks, x);
    __syncthreads();
    tile.store();
}

#define GR_GROUP_PARTITION(bytes, Item, label, Label, rows)                                                  \
    GR_ENTRY((GR_PARTITION_THREADS, 2), group_partition_##bytes##_##label##_##rows,                          \
             __grid_constant__ gr_partition_params, partition_tile<Item, Label, rows>)
#define GR_GROUP_PARTITIONS(bytes, Item, rows)                                                               \
    GR_GROUP_PARTITION(bytes, Item, i32, int32_t, rows)                                                      \
    GR_GROUP_PARTITION(bytes, Item, i64, int64_t, rows)

GR_GROUP_PARTITIONS(2, uint16_t, 16)
GR_GROUP_PARTITIONS(4, uint32_t, 16)
GR_GROUP_PARTITIONS(2, uint16_t, 8)
GR_GROUP_PARTITIONS(4, uint32_t, 8)
GR_GROUP_PARTITIONS(8, uint64_t, 8)
