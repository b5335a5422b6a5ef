// The rows of a partition, in the tiles that group_partition wrote: a segment of each tile. Warps read the
// segments as if they were one array.
#pragma once

#include "grid/tickets.cuh"
#include "groups/addends.cuh"
#include "groups/partition/params.h"

namespace gr::groups {

// The windows in use, behind the table.
inline __device__ WindowChoice *choice_of(const gr_partition_params &p) {
    return reinterpret_cast<WindowChoice *>(p.table + p.tiles * (2 * GR_PARTITION_TABLE));
}

// What a block does: the rows from `first` on, to before `end`, of a partition that `blocks` blocks share.
struct PartitionShare {
    uint32_t partition, blocks, first, end;
};

// The sum of x over the lanes up to this one.
inline __device__ uint32_t warp_prefix_sum(uint32_t x) {
#pragma unroll
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, x, apart);
        x += threadIdx.x % 32 >= apart ? other : 0;
    }
    return x;
}

// Finds the share of the block, or one of no blocks; for a warp. Blocks take partitions in order.
inline __device__ PartitionShare find_share(const gr_partition_params &p) {
    constexpr unsigned each = GR_PARTITION_TABLE / 32;
    const unsigned lane = threadIdx.x % 32;
    const uint4 *all = reinterpret_cast<const uint4 *>(p.state + 4 * GR_PARTITION_ROWS) + lane * (each / 4);
    const uint4 low = __ldcg(all), high = __ldcg(all + 1);
    const uint32_t rows[each] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    uint32_t blocks[each], sum = 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        blocks[i] = 1 + (rows[i] > p.max_rows ? (rows[i] - 1) / p.max_rows : 0);
        sum += blocks[i];
    }
    uint32_t before = warp_prefix_sum(sum) - sum;
    // The partition in whose blocks this one is, if it is of this lane.
    uint32_t in_lane = 0, its_rows = 0, its_blocks = 0, part = 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        if (blockIdx.x - before < blocks[i]) {
            in_lane = i;
            its_rows = rows[i];
            its_blocks = blocks[i];
            part = blockIdx.x - before;
        }
        before += blocks[i];
    }
    const unsigned from = __ffs(int(__ballot_sync(0xffffffffu, its_blocks > 0))) - 1;
    its_rows = __shfl_sync(0xffffffffu, its_rows, from);
    its_blocks = __shfl_sync(0xffffffffu, its_blocks, from);
    part = __shfl_sync(0xffffffffu, part, from);
    const uint32_t partition = from * each + __shfl_sync(0xffffffffu, in_lane, from);
    if (partition >= p.partitions)
        return {};
    if (its_blocks == 1)
        return {partition, 1, 0, its_rows};
    return {partition, its_blocks, uint32_t(uint64_t(its_rows) * part / its_blocks),
            uint32_t(uint64_t(its_rows) * (part + 1) / its_blocks)};
}

// The segments of up to 1024 tiles.
struct Segments {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, warps = threads / 32;
    uint32_t before[threads + 1]; // rows of the block before a tile; then all
    uint32_t shift[threads];      // from the number of a row among those of the block to where it is
    uint32_t sums[2][warps];

    // The sum of x over the threads up to this one, and over all. `turn`: another one than in the last call.
    __device__ uint32_t prefix_sum(uint32_t x, unsigned turn, uint32_t &all) {
        const uint32_t in_warp = warp_prefix_sum(x);
        if (threadIdx.x % 32 == 31)
            sums[turn][threadIdx.x / 32] = in_warp;
        __syncthreads();
        const uint32_t of_warps =
            warp_prefix_sum(threadIdx.x % 32 < warps ? sums[turn][threadIdx.x % 32] : 0);
        all = __shfl_sync(0xffffffffu, of_warps, 31);
        const uint32_t of_earlier = __shfl_sync(0xffffffffu, of_warps, (threadIdx.x / 32 + 31) % 32);
        return in_warp + (threadIdx.x < 32 ? 0 : of_earlier);
    }
    // Reads the segments of tiles from `first` on; for all threads of a block. `rows` is the number of rows
    // of the partition in earlier tiles, and then in these as well.
    __device__ void read(const gr_partition_params &p, const PartitionShare &share, uint64_t first,
                         uint32_t &rows) {
        const uint64_t tile = first + threadIdx.x;
        uint32_t begin = uint32_t(tile) * p.tile_rows, count = 0;
        if (tile < p.tiles) {
            const uint16_t *row =
                reinterpret_cast<const uint16_t *>(p.table) + tile * GR_PARTITION_TABLE + share.partition;
            const uint32_t at = row[0];
            count = row[1] - at;
            begin += at;
        }
        uint32_t all;
        if (share.blocks > 1) {
            const uint32_t last = rows + prefix_sum(count, 0, all), before = last - count;
            const uint32_t from = before > share.first ? before : share.first,
                           end = last < share.end ? last : share.end;
            begin += from - before;
            count = end > from ? end - from : 0;
            rows += all;
        }
        const uint32_t upto = prefix_sum(count, 1, all);
        before[threadIdx.x] = upto - count;
        shift[threadIdx.x] = begin - (upto - count);
        if (threadIdx.x == 0)
            before[threads] = all;
        __syncthreads();
    }
    // The last tile with no more rows before it: it has row `number`, if there is one.
    __device__ unsigned find(uint32_t number) const {
        unsigned tile = 0;
#pragma unroll 1
        for (unsigned step = threads / 2; step > 0; step /= 2)
            if (before[tile + step] <= number)
                tile += step;
        return tile;
    }
};

// Goes through the rows of a warp, 32 at a time.
struct SegmentRows {
    const Segments &segments;
    uint32_t number, end;  // of the lane's next row, and after the rows of the warp
    uint32_t tile_end, at; // of the lane's tile: the number after its rows, and its `shift`
    unsigned tile;

    __device__ SegmentRows(const Segments &segments) : segments(segments) {
        const uint32_t all = segments.before[Segments::threads], vectors = (all + 31) / 32;
        const unsigned warp = threadIdx.x / 32;
        number = 32 * uint32_t(uint64_t(vectors) * warp / Segments::warps) + threadIdx.x % 32;
        end = 32 * uint32_t(uint64_t(vectors) * (warp + 1) / Segments::warps);
        end = end < all ? end : all;
        enter(segments.find(number));
    }
    __device__ void enter(unsigned to) {
        tile = to;
        tile_end = segments.before[tile + 1];
        at = segments.shift[tile];
    }
    // Whether any lane has a row.
    __device__ bool any() const {
        return number - threadIdx.x % 32 < end;
    }
    // Takes the next row of the lane. Returns false if there is none.
    __device__ bool next(uint32_t &row) {
        if (number >= end)
            return false;
        if (number >= tile_end) {
            enter(tile + 1);
            if (number >= tile_end) // a tile without rows
                enter(segments.find(number));
        }
        row = number + at;
        number += 32;
        return true;
    }
};

// Rows of a thread, as they are in memory: to convert them at once would make it wait for the loads.
template <class In> struct SegmentBatch {
    static constexpr unsigned each = GR_PARTITION_ROWS_PER_THREAD;
    uint16_t group[each];
    In x[each];
    unsigned valid; // a bit each

    __device__ void load(const gr_partition_params &q, SegmentRows &rows) {
        valid = 0;
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            uint32_t row;
            if (rows.next(row)) {
                group[i] = reinterpret_cast<const uint16_t *>(q.locals)[row];
                x[i] = reinterpret_cast<const In *>(q.values)[row];
                valid |= 1u << i;
            }
        }
    }
};

// Calls work(batch) for the rows of a share; for all threads of a block. A barrier follows. With Ahead, the
// next batch is in flight meanwhile, in registers: the registers that work needs have to leave enough.
template <class In, bool Ahead = true, class Work>
__device__ void each_batch(const gr_partition_params &q, const PartitionShare &share, Segments &segments,
                           const Work &work) {
    uint32_t count = 0;
    for (uint64_t first = 0; first < q.tiles; first += Segments::threads) {
        segments.read(q, share, first, count);
        SegmentRows rows(segments);
        SegmentBatch<In> batch;
        batch.load(q, rows);
        while (__any_sync(0xffffffffu, batch.valid != 0)) {
            const SegmentBatch<In> now = batch;
            if (Ahead)
                batch.load(q, rows); // in flight while these are added
            work(now);
            if (!Ahead)
                batch.load(q, rows);
        }
        __syncthreads();
    }
}

inline __device__ uint32_t *state_of(const gr_partition_params &q) {
    return reinterpret_cast<uint32_t *>(q.state);
}

// Returns whether the block is the last one of its partition. All threads of the block call it.
inline __device__ bool is_last_of_partition(const gr_partition_params &q, const PartitionShare &share) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = grid::draw_ticket(state_of(q) + GR_PARTITION_TICKETS + share.partition, share.blocks) ==
               share.blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// The last block of the grid zeroes the numbers of rows, which all blocks have read; for all threads of a
// block.
inline __device__ void clear_rows(const gr_partition_params &q) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0)
        last = grid::draw_ticket(state_of(q) + GR_PARTITION_TICKET, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < GR_PARTITION_TABLE)
        state_of(q)[GR_PARTITION_ROWS + threadIdx.x] = 0;
}

} // namespace gr::groups
