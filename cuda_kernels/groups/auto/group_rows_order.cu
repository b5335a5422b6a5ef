// The order of rows by group, for group sums of rows: a counting sort of the labels alone, in two kernels.
// Rows of a group are in any order, as their sum does not depend on it. group_rows_partition puts the rows of
// each tile in order of the lower bits of their labels: equal bits make a partition. group_rows_sort puts the
// rows of a partition in order of their labels; several blocks share a partition of many rows, each of which
// makes runs of its own.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/rows.cuh"
#include "groups/rows/params.h"

using namespace gr::groups;

enum { TILE = 1 << GR_SORTED_TILE_SHIFT };

template <class T> __device__ T *address(uint64_t at) {
    return reinterpret_cast<T *>(at);
}

// The sum of the values of all threads before this one; for all threads of a block.
template <unsigned Threads> __device__ uint32_t sum_before(uint32_t value, uint32_t *all = nullptr) {
    constexpr unsigned warps = Threads / 32;
    __shared__ uint32_t of_warp[warps];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = value;
#pragma unroll
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? other : 0;
    }
    __syncthreads();
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    uint32_t of_warps = lane < warps ? of_warp[lane] : 0; // then of a warp and those before it
#pragma unroll
    for (unsigned apart = 1; apart < warps; apart *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, of_warps, apart);
        of_warps += lane >= apart ? other : 0;
    }
    const uint32_t upto = __shfl_sync(0xffffffffu, of_warps, int(warp + 31) % 32),
                   before = warp > 0 ? upto : 0;
    if (all != nullptr)
        *all = __shfl_sync(0xffffffffu, of_warps, int(warps - 1));
    return before + sum - value;
}

// Draws a number of a counter in shared memory, for all lanes of a warp; lanes that take none have the number
// ~0u. A warp whose lanes all have one counter draws at once.
__device__ uint32_t draw(uint32_t *counters, uint32_t which) {
    const bool together = __all_sync(0xffffffffu, which == __shfl_sync(0xffffffffu, which, 0));
    if (which == ~0u)
        return 0;
    if (!together)
        return atomicAdd(&counters[which], 1u);
    const unsigned lane = threadIdx.x % 32;
    uint32_t first = 0;
    if (lane == 0)
        first = atomicAdd(&counters[which], 32u);
    return __shfl_sync(0xffffffffu, first, 0) + lane;
}

// ---- partitions ----

// The biased exponent of an element.
__device__ unsigned exponent_at(const gr_sorted_rows_params &p, int64_t index) {
    if (p.item_bytes == 8)
        return unsigned(address<const uint64_t>(p.rows.in)[index] >> 52) & 2047;
    if (p.item_bytes == 4)
        return address<const uint32_t>(p.rows.in)[index] >> 23 & 255;
    return address<const uint16_t>(p.rows.in)[index] >> 7 & 255;
}

// Finds the greatest finite exponent of a sample; for all threads of a block.
__device__ void sample_exponents(const gr_sorted_rows_params &p) {
    __shared__ uint32_t greatest;
    const gr_group_params &r = p.rows;
    if (threadIdx.x == 0)
        greatest = 0;
    __syncthreads();
    const unsigned none = p.item_bytes == 8 ? 2047 : 255;
    const uint64_t elements = p.item_bytes > 0 ? r.length * r.inner : 0,
                   step = elements / GR_GROUP_SAMPLES + 1;
    unsigned most = 0;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < GR_GROUP_SAMPLES; i += GR_SORTED_TILE_THREADS) {
        const uint64_t element = i * step;
        if (element >= elements)
            break;
        const uint64_t row = element / r.inner, c = element - row * r.inner;
        const unsigned exponent =
            exponent_at(p, int64_t(row) * r.along_stride + int64_t(c / r.components) * r.inner_stride +
                               int64_t(c % r.components));
        most = exponent != none && exponent > most ? exponent : most;
    }
    if (most > 0)
        atomicMax(&greatest, most);
    __syncthreads();
    if (threadIdx.x == 0)
        address<uint32_t>(p.choice)[GR_SORTED_EXPONENT] = greatest;
}

__device__ void partition_labels(const gr_sorted_rows_params &p) {
    constexpr unsigned threads = GR_SORTED_TILE_THREADS, each = TILE / threads;
    __shared__ uint32_t staged[TILE];
    uint32_t *const first = shared_array<uint32_t>();
    const unsigned partitions = 1u << p.partitions_shift;
    for (unsigned i = threadIdx.x; i < partitions; i += threads)
        first[i] = 0;
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    if (blockIdx.x == p.tiles)
        return sample_exponents(p);
    for (uint64_t i = blockIdx.x * uint64_t(threads) + threadIdx.x; i < p.slots; i += p.tiles * threads)
        address<uint32_t>(p.totals)[i] = 0;
    const unsigned tile = blockIdx.x;
    uint64_t group[each];
    load_labels(p.rows, tile * uint64_t(TILE) + threadIdx.x, threads, group);
    uint32_t rank[each];
#pragma unroll
    for (unsigned i = 0; i < each; ++i)
        rank[i] = draw(first, group[i] < p.rows.groups ? uint32_t(group[i]) & (partitions - 1) : ~0u);
    __syncthreads();
    const unsigned share = (partitions + threads - 1) / threads, from = threadIdx.x * share;
    uint32_t sum = 0, rows;
    for (unsigned i = from; i < from + share && i < partitions; ++i)
        sum += first[i];
    sum = sum_before<threads>(sum, &rows);
    for (unsigned i = from; i < from + share && i < partitions; ++i) {
        const uint32_t count = first[i];
        first[i] = sum;
        address<uint32_t>(p.table)[i * uint64_t(p.tiles) + tile] = sum << 16 | count;
        if (count != 0)
            atomicAdd(address<uint32_t>(p.counts) + i, count);
        sum += count;
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < each; ++i)
        if (group[i] < p.rows.groups)
            staged[first[uint32_t(group[i]) & (partitions - 1)] + rank[i]] =
                uint32_t(group[i]) >> p.partitions_shift << GR_SORTED_TILE_SHIFT |
                (threadIdx.x + i * threads);
    __syncthreads();
    uint32_t *records = address<uint32_t>(p.records) + tile * uint64_t(TILE);
    for (unsigned i = threadIdx.x; i < rows; i += threads)
        records[i] = staged[i];
}

// ---- groups ----

// The rows of a partition that a block sorts.
struct Part {
    uint32_t partition; // ~0u: none
    uint32_t number, parts;
    uint32_t base, rows; // of the partition

    __device__ uint32_t begin() const {
        return uint32_t(uint64_t(rows) * number / parts);
    }
    __device__ uint32_t end() const {
        return uint32_t(uint64_t(rows) * (number + 1) / parts);
    }
};

// A block for each partition, then blocks for the other parts of those of many rows; for all threads of a
// block.
__device__ Part part_of_block(const gr_sorted_rows_params &p) {
    constexpr unsigned threads = GR_SORTED_SORT_THREADS;
    __shared__ Part part;
    const unsigned partitions = 1u << p.partitions_shift;
    const uint32_t *counts = address<const uint32_t>(p.counts);
    const unsigned share = (partitions + threads - 1) / threads, from = threadIdx.x * share;
    if (threadIdx.x == 0)
        part = {~0u, 0, 1, 0, 0};
    uint32_t rows = 0, more = 0, all;
    for (unsigned i = from; i < from + share && i < partitions; ++i) {
        rows += counts[i];
        more += max(counts[i] / p.part_rows, 1u) - 1;
    }
    rows = sum_before<threads>(rows, &all);
    more = partitions + sum_before<threads>(more);
    for (unsigned i = from; i < from + share && i < partitions; ++i) {
        const uint32_t count = counts[i], parts = max(count / p.part_rows, 1u);
        if (blockIdx.x == i)
            part = {i, 0, parts, rows, count};
        else if (blockIdx.x >= more && blockIdx.x < more + parts - 1)
            part = {i, blockIdx.x - more + 1, parts, rows, count};
        rows += count;
        more += parts - 1;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        address<uint32_t>(p.choice)[GR_SORTED_ROWS] = all;
    __syncthreads();
    return part;
}

enum { RECORDS = 4 }; // of a thread in a turn

// Calls work(i, record, tile) for the records of a part, or with ~0u for none, in turns of whole warps; i is
// the number of the record among those of the thread in a turn.
template <class Work>
__device__ void each_record(const gr_sorted_rows_params &p, const Part &part, const Work &work) {
    constexpr unsigned threads = GR_SORTED_SORT_THREADS, tiles = GR_SORTED_ROUND_TILES, each = RECORDS;
    __shared__ uint32_t before[tiles + 1];
    __shared__ uint16_t first[tiles];
    const uint32_t *table = address<const uint32_t>(p.table) + part.partition * uint64_t(p.tiles);
    const uint32_t *records = address<const uint32_t>(p.records);
    const uint32_t begin = part.begin(), end = part.end();
    uint32_t seen = 0;
    for (unsigned round = 0; round < p.tiles && seen < end; round += tiles) {
        constexpr unsigned share = tiles / threads;
        const unsigned from = threadIdx.x * share;
        uint32_t count[share], sum = 0, all;
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < share; ++i) {
            const uint32_t entry = round + from + i < p.tiles ? table[round + from + i] : 0;
            count[i] = entry & 0xffff;
            sum += count[i];
            first[from + i] = uint16_t(entry >> 16);
        }
        sum = sum_before<threads>(sum, &all);
#pragma unroll
        for (unsigned i = 0; i < share; ++i) {
            before[from + i] = sum;
            sum += count[i];
        }
        __syncthreads();
        const uint32_t low = begin > seen ? begin - seen : 0, high = min(end - seen, all);
        for (uint32_t turn = low; turn < high; turn += threads * each) {
            uint32_t record[each], tile[each];
#pragma unroll
            for (unsigned i = 0; i < each; ++i) {
                const uint32_t at = turn + i * threads + threadIdx.x;
                tile[i] = 0;
#pragma unroll
                for (unsigned step = tiles / 2; step > 0; step /= 2)
                    tile[i] += before[tile[i] + step] <= at ? step : 0;
                record[i] = ~0u;
                if (at < high)
                    record[i] =
                        records[(round + tile[i]) * uint64_t(TILE) + first[tile[i]] + at - before[tile[i]]];
            }
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                work(i, record[i], round + tile[i]);
        }
        seen += all;
    }
    __syncthreads();
}

// Writes the results of a group of no rows; for all lanes of a warp.
template <class Bits> __device__ void put_empty(const gr_group_params &r, uint64_t group) {
    const Bits empty = *reinterpret_cast<const Bits *>(r.empty_result);
    for (uint64_t line = 0; line < r.lines; ++line) {
        Bits *out = address<Bits>(r.out) + (line * r.groups + group) * r.inner;
        for (uint64_t c = threadIdx.x % 32; c < r.inner; c += 32)
            out[c] = empty;
    }
}

// Writes the results of groups that have no rows in the part. If another part has some, the results are
// written again later.
__device__ void put_empty_groups(const gr_sorted_rows_params &p, const Part &part, const uint32_t *counts) {
    for (unsigned local = threadIdx.x / 32; local < p.locals; local += GR_SORTED_SORT_THREADS / 32) {
        const uint64_t group = uint64_t(local) << p.partitions_shift | part.partition;
        if (group >= p.rows.groups || counts[local] != 0)
            continue;
        if (p.result_bytes == 8)
            put_empty<uint64_t>(p.rows, group);
        else if (p.result_bytes == 4)
            put_empty<uint32_t>(p.rows, group);
        else
            put_empty<uint16_t>(p.rows, group);
    }
}

// Writes the runs of a part, of which counts[i] rows have the group i of the partition, and turns the counts
// into the first places of the groups.
__device__ void put_runs(const gr_sorted_rows_params &p, const Part &part, uint32_t *counts) {
    constexpr unsigned threads = GR_SORTED_SORT_THREADS;
    const uint32_t base = part.base + part.begin(), end = part.base + part.end();
    const bool whole = part.parts == 1;
    const uint32_t partitions = 1u << p.partitions_shift;
    const uint32_t first = whole ? part.partition * p.locals : partitions * p.locals + base / p.slot_rows;
    const unsigned share = (p.locals + threads - 1) / threads, from = threadIdx.x * share;
    uint32_t sum = 0, number = 0;
    for (unsigned i = from; i < from + share && i < p.locals; ++i) {
        sum += counts[i];
        number += counts[i] != 0;
    }
    sum = base + sum_before<threads>(sum);
    number = first + sum_before<threads>(number);
    for (unsigned i = from; i < from + share && i < p.locals; ++i) {
        const uint32_t count = counts[i], upto = sum + count;
        counts[i] = sum;
        if (count == 0)
            continue;
        const uint32_t slot = !whole              ? part.base / p.slot_rows + i
                              : count > p.longest ? sum / p.slot_rows
                                                  : uint32_t(GR_SORTED_SHORT);
        if (slot != GR_SORTED_SHORT)
            atomicAdd(address<uint32_t>(p.totals) + slot, count);
        const uint32_t group = i << p.partitions_shift | part.partition;
        address<gr_sorted_run>(p.runs)[number] = {sum, upto, upto == end ? group | GR_SORTED_LAST_RUN : group,
                                                  slot};
        if (sum == base)
            address<uint32_t>(p.run_of)[sum] = number;
        for (uint64_t at = (sum + p.chunk - 1) / p.chunk * p.chunk; at < upto; at += p.chunk)
            address<uint32_t>(p.run_of)[at] = number;
        ++number;
        sum = upto;
    }
    __syncthreads();
}

__device__ void sort_labels(const gr_sorted_rows_params &p) {
    constexpr unsigned threads = GR_SORTED_SORT_THREADS;
    uint32_t *const next = shared_array<uint32_t>(), *const staged = next + p.locals;
    for (unsigned i = threadIdx.x; i < p.locals; i += threads)
        next[i] = 0;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const Part part = part_of_block(p);
    if (part.partition == ~0u)
        return;
    const uint32_t base = part.base + part.begin(), rows = part.end() - part.begin();
    uint32_t *order = address<uint32_t>(p.order);
    const bool stages = rows <= p.staged;
    // The rows of one turn, their groups and their numbers among the rows of these, stay in shared memory.
    constexpr unsigned turn = threads * RECORDS;
    const bool once = p.tiles <= GR_SORTED_ROUND_TILES && rows <= turn && p.staged >= 3 * turn;
    uint32_t *const kept = staged + turn + threadIdx.x, *const ranks = kept + turn;
    const auto row_of = [](uint32_t record, uint32_t tile) {
        return tile << GR_SORTED_TILE_SHIFT | (record & (TILE - 1));
    };
    each_record(p, part, [&](unsigned i, uint32_t record, uint32_t tile) {
        const uint32_t local = record >> GR_SORTED_TILE_SHIFT, rank = draw(next, record != ~0u ? local : ~0u);
        if (once) {
            kept[i * threads] = row_of(record, tile);
            ranks[i * threads] = local << 16 | rank;
        }
    });
    if (part.number == 0)
        put_empty_groups(p, part, next);
    __syncthreads();
    put_runs(p, part, next);
    if (once) {
        for (unsigned i = threadIdx.x; i < rows; i += threads) {
            const uint32_t rank = ranks[i - threadIdx.x];
            staged[next[rank >> 16] + (rank & 0xffff) - base] = kept[i - threadIdx.x];
        }
        __syncthreads();
    } else {
        each_record(p, part, [&](unsigned, uint32_t record, uint32_t tile) {
            const uint32_t at = draw(next, record != ~0u ? record >> GR_SORTED_TILE_SHIFT : ~0u);
            if (record != ~0u && stages)
                staged[at - base] = row_of(record, tile);
            else if (record != ~0u)
                order[at] = row_of(record, tile);
        });
    }
    for (unsigned i = threadIdx.x; stages && i < rows; i += threads)
        order[base + i] = staged[i];
}

GR_ENTRY((GR_SORTED_TILE_THREADS), group_rows_partition, __grid_constant__ gr_sorted_rows_params,
         partition_labels)
GR_ENTRY((GR_SORTED_SORT_THREADS), group_rows_sort, __grid_constant__ gr_sorted_rows_params, sort_labels)
