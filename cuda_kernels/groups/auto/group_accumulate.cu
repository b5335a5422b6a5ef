// The second step of group sums by partitions: a block adds up the rows of a partition in windows, and rounds
// the sums. Several blocks share a partition of many rows: their sums meet in the planes, and the last one
// rounds them.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "groups/far_groups.cuh"
#include "groups/result.cuh"
#include "groups/sample.cuh"
#include "groups/segments.cuh"
#include "groups/table.cuh"

using namespace gr::groups;

// A bit for each group of a partition.
struct GroupBits {
    uint32_t words[(1 << GR_PARTITION_MAX_SHIFT) / 32];

    __device__ void clear() {
        if (threadIdx.x < sizeof words / 4)
            words[threadIdx.x] = 0;
    }
    __device__ void set(unsigned group) {
        atomicOr(&words[group / 32], 1u << group % 32);
    }
    __device__ bool has(unsigned group) const {
        return words[group / 32] >> group % 32 & 1;
    }
};
struct NoGroupBits {
    __device__ void clear() {
    }
};

// What the threads of a block share.
template <class In> struct BlockState {
    uint32_t used[3];  // planes
    GroupBits outside; // groups with elements in no window
    std::conditional_t<PlaneRange<In>::has_far, GroupBits, NoGroupBits> far; // groups to sum again
    WindowChoice choice;
    PartitionShare share;
};

// A partition has up to 32 planes per result.
template <class In> using UsedInPartition = UsedPlanes<In, 1>;

// Adds to planes, and sets the bit of the group.
template <class In> struct OutsideAdder {
    const PlaneAdder<In, UsedInPartition<In>> planes;
    const PlaneRange<In> &range;
    GroupBits &outside;
    unsigned group;

    __device__ void add(In x, uint64_t result) const {
        outside.set(group);
        if (range.is_far(x))
            planes.set_flags(GR_GROUP_FAR, result);
        else
            planes.add(x, result);
    }
};

template <class In> struct Accumulation {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, each = SegmentBatch<In>::each;
    static constexpr bool is_integer = Addends<In>::bins == 0;
    const gr_partition_params &q;
    const gr_group_params &p;
    BlockState<In> &block;
    UsedInPartition<In> used;
    const WindowTable<In> table;

    __device__ Accumulation(const gr_partition_params &params, BlockState<In> &block)
        : q(params), p(params.sums), block(block), used{block.used}, table(1u << params.shift, params.sums) {
    }
    __device__ PlaneRange<In> range() const {
        if constexpr (PlaneRange<In>::has_far)
            return {q, position()};
        else
            return {q, 0};
    }
    __device__ PlaneAdder<In, UsedInPartition<In>> adder() {
        return {p, used, range().lowest};
    }
    __device__ uint64_t first_group() const {
        return uint64_t(block.share.partition) << q.shift;
    }
    __device__ unsigned groups() const {
        const uint64_t rest = p.groups - first_group();
        return rest < table.groups ? unsigned(rest) : table.groups;
    }

    using Batch = SegmentBatch<In>;

    __device__ void add_outside(In x, unsigned group) {
        const PlaneRange<In> planes = range();
        Addends<In>::add_outside(x, first_group() + group,
                                 OutsideAdder<In>{{p, used, planes.lowest}, planes, block.outside, group});
    }
    __device__ void add_batch(const Batch &batch, const WindowChoice &choice) {
        unsigned group[each];
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            group[i] = batch.group[i];
        const unsigned outside = table.add_batch(batch.x, group, batch.valid, choice);
        if (outside != 0)
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                if (outside >> i & 1)
                    add_outside(batch.x[i], group[i]);
    }
    // Adds the rows of the block's share.
    __device__ void sum(Segments &segments) {
        const WindowChoice choice = block.choice;
        each_batch<In, !std::is_same<In, double>::value>(
            q, block.share, segments, [&](const Batch &batch) { add_batch(batch, choice); });
        used.collect();
        __syncthreads();
    }

    // The integer of a group, in units of 2^position().
    __device__ Whole units(unsigned group) const {
        Whole all = table.window(0, group);
        if (block.choice.windows > 1)
            all += table.window(1, group) << Addends<In>::exponents;
        return all;
    }
    __device__ int position() const {
        return int(block.choice.first) + int(Planes<In>::size.below) - Planes<In>::bias;
    }
    // Writes the results of a partition that no other block has added to. Returns whether a group of the
    // thread is far: it has no result yet.
    __device__ bool finish_windows() const {
        bool any_far = false;
        if constexpr (is_integer) {
            for (unsigned group = threadIdx.x; group < groups(); group += threads)
                finish_integer(p, first_group() + group, table.window(0, group), rows(group));
        } else {
            const int length_bits = 64 - __clzll(static_cast<long long>(p.length));
            const int unit_bits = Addends<In>::bits + length_bits +
                                  (block.choice.windows > 1 ? int(Addends<In>::exponents) : 0);
            const GroupResult<In> results(p, block.used, int(range().lowest));
            for (unsigned group = threadIdx.x; group < groups(); group += threads) {
                const uint64_t result = first_group() + group;
                const bool outside = block.outside.has(group);
                if (outside && take_far(results, group))
                    any_far = true;
                else if (outside || table.mean || !put_narrow(group, result))
                    results.finish(result, units(group), position(), unit_bits, rows(group), outside);
            }
        }
        return any_far;
    }
    // Returns whether a group is far, and clears what has been added to its planes. The result of a group
    // with an infinity or a NaN does not depend on far elements.
    __device__ bool take_far(const GroupResult<In> &results, unsigned group) const {
        if constexpr (PlaneRange<In>::has_far) {
            constexpr uint32_t special = GR_EXACT_NAN | GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY;
            const uint64_t result = first_group() + group;
            const uint32_t flags = __ldcg(reinterpret_cast<const uint32_t *>(p.flags) + result);
            if ((flags & (GR_GROUP_FAR | special)) != GR_GROUP_FAR)
                return false;
            results.clear(result);
            block.far.set(group);
            return true;
        }
        return false;
    }
    // Writes the results of far groups; for all threads of a block.
    __device__ void finish_far(bool any, Segments &segments) const {
        if constexpr (PlaneRange<In>::has_far) {
            if (!__syncthreads_or(any))
                return;
            FarGroups(q, block.share.partition, block.far.words, table.words)
                .sum(segments, [&](unsigned group) { return table.mean ? table.rows[group] : 1; });
        }
    }
    // Writes a sum of float32 or float64, if it has few bits: the same as GroupResult::finish, in less time.
    __device__ bool put_narrow(unsigned group, uint64_t result) const {
        constexpr bool is_double = std::is_same<In, double>::value;
        if constexpr (is_double || std::is_same<In, float>::value) {
            std::conditional_t<is_double, double, int64_t> units;
            typename Planes<In>::Bits bits;
            if (!table.narrow(group, block.choice, units) ||
                !GroupResult<In>::round_narrow(units, int(block.choice.first) - Planes<In>::bias, bits))
                return false;
            reinterpret_cast<typename Planes<In>::Bits *>(p.out)[result] = bits;
            return true;
        }
        return false;
    }
    __device__ uint32_t rows(unsigned group) const {
        return table.mean ? table.rows[group] : 0;
    }

    // Adds a group's integer to the planes, which have int64 for pieces of 32 bits.
    __device__ void add_to_planes(uint64_t result, Whole rest) {
        using Traits = Planes<In>;
        constexpr unsigned step = 32 / Traits::bits;
        const PlaneRange<In> planes = range();
        const unsigned last = planes.last();
        int from = position() - Traits::position - int(Traits::bits * planes.lowest);
        if (from < 0) { // no element has these bits
            rest >>= -from;
            from = 0;
        }
        unsigned plane = unsigned(from) / Traits::bits, shift = unsigned(from) % Traits::bits;
        while (rest != 0) {
            const unsigned up = last - plane < step ? last - plane : step;
            const unsigned width = up * Traits::bits - shift;
            const Whole sign = up == 0 ? 0 : rest >> (width - 1);
            if (sign == 0 || sign == -1)
                return adder().add_to_plane(result, plane, int64_t(rest) << shift);
            const int64_t piece = int64_t(rest) & ((1ll << width) - 1);
            if (piece != 0)
                adder().add_to_plane(result, plane, piece << shift);
            rest >>= width;
            plane += up;
            shift = 0;
        }
    }
    __device__ void add_integer(uint64_t result, Whole rest) const {
        auto *planes = reinterpret_cast<unsigned long long *>(p.planes) + result;
        const auto low = static_cast<unsigned long long>(rest);
        if (low == 0)
            return;
        atomicAdd(planes, table.mean ? low & 0xffffffff : low);
        if (table.mean)
            atomicAdd(planes + p.results, static_cast<unsigned long long>(rest >> 32));
    }
    // Adds the block's sums to those of the blocks that share the partition. Returns whether it is the last.
    __device__ bool publish() {
        for (unsigned group = threadIdx.x; group < groups(); group += threads) {
            const uint64_t result = first_group() + group;
            if constexpr (is_integer)
                add_integer(result, units(group));
            else
                add_to_planes(result, units(group));
            if (rows(group) != 0)
                atomicAdd(counts() + result, static_cast<unsigned long long>(rows(group)));
        }
        used.collect();
        __syncthreads();
        uint32_t *const used = state_of(q) + GR_PARTITION_USED + 3 * block.share.partition;
        if (threadIdx.x < 3 && block.used[threadIdx.x] != 0)
            atomicOr(used + threadIdx.x, block.used[threadIdx.x]);
        return is_last_of_partition(q, block.share);
    }
    __device__ unsigned long long *counts() const {
        return reinterpret_cast<unsigned long long *>(p.counts);
    }
    // Writes the results of a partition whose sums are in the planes. Returns what finish_windows does.
    __device__ bool finish_planes() const {
        bool any_far = false;
        uint32_t *const used = state_of(q) + GR_PARTITION_USED + 3 * block.share.partition;
        if (threadIdx.x < 3)
            block.used[threadIdx.x] = atomicExch(used + threadIdx.x, 0u);
        __syncthreads();
        for (unsigned group = threadIdx.x; group < groups(); group += threads) {
            const uint64_t result = first_group() + group;
            uint64_t rows = 0;
            if (table.mean) {
                rows = __ldcg(counts() + result);
                counts()[result] = 0;
                if (PlaneRange<In>::has_far)
                    table.rows[group] = uint32_t(rows); // of far groups
            }
            if constexpr (is_integer) {
                finish_integer(p, result, take_integer_planes(p, result), rows);
            } else {
                const GroupResult<In> results(p, block.used, int(range().lowest));
                if (take_far(results, group))
                    any_far = true;
                else
                    results.finish(result, 0, 0, 0, rows);
            }
        }
        return any_far;
    }
};

template <class In> __device__ void accumulate(const gr_partition_params &q) {
    __shared__ BlockState<In> block;
    __shared__ Segments segments;
    Accumulation<In> sums(q, block);
    if (threadIdx.x < 3)
        block.used[threadIdx.x] = 0;
    block.outside.clear();
    block.far.clear();
    sums.table.clear();
    pdl_as_comments::pdl_wait();
    pdl_as_comments::pdl_launch_dependents();
    if (threadIdx.x < 32) {
        const PartitionShare share = find_share(q);
        if (threadIdx.x == 0) {
            block.share = share;
            block.choice = sums.is_integer ? WindowChoice{0, 1} : *choice_of(q);
        }
    }
    __syncthreads();
    if (block.share.blocks == 1) {
        sums.sum(segments);
        sums.finish_far(sums.finish_windows(), segments);
    } else if (block.share.blocks > 1) {
        sums.sum(segments);
        if (sums.publish())
            sums.finish_far(sums.finish_planes(), segments);
    }
    clear_rows(q);
}

#define GR_GROUP_ACCUMULATE(name, In)                                                                        \
    GR_ENTRY((GR_GROUP_WINDOW_THREADS), group_accumulate_##name, __grid_constant__ gr_partition_params,      \
             accumulate<In>)

GR_GROUP_ACCUMULATE(f32, float)
GR_GROUP_ACCUMULATE(f16, gr_f16)
GR_GROUP_ACCUMULATE(bf16, gr_bf16)
GR_GROUP_ACCUMULATE(f64, double)
GR_GROUP_ACCUMULATE(i32, int32_t)
GR_GROUP_ACCUMULATE(u32, uint32_t)
GR_GROUP_ACCUMULATE(i64, int64_t)
