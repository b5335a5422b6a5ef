// Exact sums and means of groups of few rows of several columns in one launch. A block has some neighbouring
// groups: it reads all labels, lists its rows by group, and adds them up in registers, a warp for each tile
// of columns of a group. A sum that registers do not hold is computed again in a state of all exponents.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "groups/lists/params.h"
#include "groups/rows.cuh"
#include "segments/lost_sums.cuh"

using namespace gr::groups;
using namespace gr::segments;
using namespace gr::grid;

// Held: double, or float for elements of up to 32 bits.
template <class Held> struct GroupLists {
    static constexpr unsigned labels = 4, in_flight = GR_GROUP_LISTS_IN_FLIGHT, half = in_flight / 2,
                              few = 2; // rows that one addition adds up
    static constexpr bool wide = sizeof(Held) == 8;
    static constexpr unsigned words = wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
                              below = wide ? GR_EXACT_WIDE_BELOW : GR_EXACT_NARROW_BELOW;

    const gr_group_params &p;
    const unsigned width, groups; // columns per tile; groups of the block
    const uint64_t line, first;   // of the block; its first group
    int64_t *const state;         // of the warp, in shared memory, as all that follows
    Expansion *const parts;       // sums of each warp, by column
    uint32_t *const counts;       // [group]: rows
    uint32_t *const ends;         // [group]: of its rows in `order`
    uint32_t *const entries;      // rows of all groups: its number and, in the upper half, its group
    uint16_t *const order;        // numbers of the rows, by group
    unsigned *const listed;       // entries

    // Lists the rows of the block's groups by group; for a block.
    __device__ void find_rows() const {
        const unsigned lane = threadIdx.x % 32;
        for (unsigned base = 0; base < p.length; base += labels * blockDim.x) {
            uint64_t label[labels];
            load_labels(p, base + threadIdx.x, blockDim.x, label);
            unsigned index[labels], own_rows = 0;
#pragma unroll
            for (unsigned i = 0; i < labels; ++i) {
                const unsigned own = __ballot_sync(0xffffffffu, label[i] - first < groups);
                index[i] = own_rows + __popc(own & ((1u << lane) - 1));
                own_rows += __popc(own);
            }
            if (own_rows == 0)
                continue;
            const unsigned at = __shfl_sync(0xffffffffu, lane == 0 ? atomicAdd(listed, own_rows) : 0, 0);
#pragma unroll
            for (unsigned i = 0; i < labels; ++i)
                if (label[i] - first < groups) {
                    const unsigned group = unsigned(label[i] - first),
                                   row = base + threadIdx.x + i * blockDim.x;
                    if (groups == 1) {
                        order[at + index[i]] = uint16_t(row);
                        continue;
                    }
                    entries[at + index[i]] = group << 16 | row;
                    atomicAdd(counts + group, 1u);
                }
        }
        __syncthreads();
        if (groups == 1) {
            if (threadIdx.x == 0)
                *counts = *ends = *listed;
            __syncthreads();
            return;
        }
        if (threadIdx.x < 32)
            sum_counts();
        __syncthreads();
        for (unsigned i = threadIdx.x; i < *listed; i += blockDim.x)
            order[atomicAdd(ends + (entries[i] >> 16), 1u)] = uint16_t(entries[i]);
        __syncthreads();
    }
    // Where the rows of each group begin; for a warp.
    __device__ void sum_counts() const {
        uint32_t before = 0;
        for (unsigned base = 0; base < groups; base += 32) {
            const unsigned group = base + threadIdx.x;
            const uint32_t rows = group < groups ? counts[group] : 0;
            uint32_t sum = rows;
#pragma unroll
            for (unsigned apart = 1; apart < 32; apart *= 2) {
                const uint32_t other = __shfl_up_sync(0xffffffffu, sum, apart);
                sum += threadIdx.x >= apart ? other : 0;
            }
            if (group < groups)
                ends[group] = before + sum - rows;
            before += __shfl_sync(0xffffffffu, sum, 31);
        }
    }

    // Without a division where elements have one component.
    __device__ int64_t offset_of(unsigned column) const {
        return p.components == 1 ? int64_t(column) * p.inner_stride
                                 : int64_t(column / 2) * p.inner_stride + int64_t(column % 2);
    }
    template <class In>
    __device__ void load_as(int64_t offset, const uint16_t *list, unsigned slots, unsigned rows,
                            double (&x)[in_flight]) const {
        const In *in = reinterpret_cast<const In *>(p.in) + offset;
        Loaded<In> loaded[in_flight];
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
            if (i * slots < rows)
                loaded[i].load(in + int64_t(list[i * slots]) * p.along_stride);
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
            x[i] = loaded[i].value();
    }
    // Calls add() for batches of elements of a column of a group: those of every `slots`-th row.
    template <class Add>
    __device__ void each_batch(unsigned group, unsigned column, unsigned slot, unsigned slots,
                               const Add &add) const {
        const int64_t offset = int64_t(line) * p.line_stride + offset_of(column);
        const unsigned rows = counts[group];
        const uint16_t *list = order + (ends[group] - rows);
        for (unsigned at = slot; at < rows; at += in_flight * slots) {
            double x[in_flight];
            if (wide || p.from == GR_GROUP_f32 || p.from == GR_GROUP_c64)
                load_as<Held>(offset, list + at, slots, rows - at, x);
            else if (p.from == GR_GROUP_f16)
                load_as<gr_f16>(offset, list + at, slots, rows - at, x);
            else
                load_as<gr_bf16>(offset, list + at, slots, rows - at, x);
            add(x, rows - at);
        }
    }
    // The sum of the rows of slots of a column, for the lanes of the first slot; a warp has 32 / width slots.
    __device__ Expansion sum_slots(unsigned group, unsigned column, unsigned slot, unsigned slots) const {
        Expansion sum = {-0.0, 0, 0};
        if (column < p.inner)
            each_batch(group, column, slot, slots, [&](const double(&x)[in_flight], unsigned rows) {
                double first[half], second[half];
#pragma unroll
                for (unsigned i = 0; i < half; ++i) {
                    first[i] = x[i];
                    second[i] = x[half + i];
                }
                add_all<!wide>(sum, first);
                if (rows > half * slots)
                    add_all<!wide>(sum, second);
            });
        const unsigned lanes =
            min(32u, max(counts[group], 1u) * width); // that have rows, if slots are warps'
#pragma unroll 1
        for (unsigned apart = 16; apart >= width; apart /= 2)
            if (apart < lanes)
                sum = sum_of(sum, shuffle_down(sum, apart));
        return sum;
    }

    __device__ uint64_t result_of(unsigned group, unsigned column) const {
        return (line * p.groups + first + group) * p.inner + column;
    }
    __device__ void put(uint64_t result, uint64_t bits) const {
        if (wide)
            reinterpret_cast<uint64_t *>(p.out)[result] = bits;
        else if (p.from == GR_GROUP_f16 || p.from == GR_GROUP_bf16)
            reinterpret_cast<uint16_t *>(p.out)[result] = uint16_t(bits);
        else
            reinterpret_cast<uint32_t *>(p.out)[result] = uint32_t(bits);
    }
    __device__ void put_empty(unsigned group, unsigned column) const {
        put(result_of(group, column), p.components == 2 && column % 2 == 1
                                          ? wide ? p.empty_result[1] : p.empty_result[0] >> 32
                                          : p.empty_result[0]);
    }
    __device__ uint32_t result_dtype() const { // of a component
        return wide ? SEGMENT_f64 : p.from == GR_GROUP_c64 ? SEGMENT_f32 : p.from;
    }
    __device__ gr_exact_format format() const {
        return wide                      ? gr_exact_format{53, 11}
               : p.from == GR_GROUP_f16  ? gr_exact_format{11, 5}
               : p.from == GR_GROUP_bf16 ? gr_exact_format{8, 8}
                                         : gr_exact_format{24, 8};
    }
    // Writes the sum or mean of a column. Returns false if the sum is lost.
    __device__ bool finish(unsigned group, unsigned column, const Expansion &sum) const {
        const uint64_t result = result_of(group, column);
        const unsigned rows = counts[group];
        if (rows == 0) {
            put_empty(group, column);
            return true;
        }
        const ExactResults results{p.out, 0, result_dtype(), (p.options & GR_GROUP_MEAN) != 0};
        return results.put_unless_lost(result, sum, rows);
    }
    // A lost sum, in a state of all exponents; for a warp.
    __device__ void sum_again(unsigned group, unsigned column) const {
        const unsigned lane = threadIdx.x % 32;
        WarpState<words, below> sum(state);
        each_batch(group, column, lane, 32, [&](const double(&x)[in_flight], unsigned) { sum.add(x); });
        const uint64_t divisor = p.options & GR_GROUP_MEAN ? counts[group] : 1;
        const uint64_t bits = sum.round(divisor, format());
        if (lane == 0)
            put(result_of(group, column), bits);
        __syncwarp();
    }
    // Writes the results of a tile from the sums of the first lanes of a warp.
    __device__ void finish_tile(unsigned group, unsigned tile, const Expansion &sum) const {
        const unsigned lane = threadIdx.x % 32, column = tile * width + lane;
        unsigned lost =
            __ballot_sync(0xffffffffu, lane < width && column < p.inner && !finish(group, column, sum));
        for (; lost != 0; lost &= lost - 1)
            sum_again(group, tile * width + __ffs(int(lost)) - 1);
    }
    // For a warp.
    __device__ void tile_by_warp(unsigned group, unsigned tile) const {
        const unsigned lane = threadIdx.x % 32;
        finish_tile(group, tile, sum_slots(group, tile * width + lane % width, lane / width, 32 / width));
    }
    // Tiles of a group of up to `few` rows, several of them at once; for a warp. One addition rounds.
    template <class In>
    __device__ void few_rows_as(unsigned group, unsigned tile, unsigned tiles, unsigned apart) const {
        const unsigned lane = threadIdx.x % 32, rows = counts[group];
        const uint16_t *list = order + (ends[group] - rows);
        const int64_t line_offset = int64_t(line) * p.line_stride,
                      first_row = rows > 0 ? int64_t(list[0]) * p.along_stride : 0,
                      last_row = rows > 1 ? int64_t(list[1]) * p.along_stride : 0;
        const In *in = reinterpret_cast<const In *>(p.in) + line_offset;
        const ExactResults results{p.out, 0, result_dtype(), false};
        Loaded<In> loaded[few][GR_GROUP_LISTS_TILES];
#pragma unroll
        for (unsigned i = 0; i < GR_GROUP_LISTS_TILES; ++i) {
            const unsigned column = (tile + i * apart) * width + lane;
            if (i < tiles && column < p.inner) {
                if (rows > 0)
                    loaded[0][i].load(in + first_row + offset_of(column));
                if (rows > 1)
                    loaded[1][i].load(in + last_row + offset_of(column));
            }
        }
#pragma unroll
        for (unsigned i = 0; i < GR_GROUP_LISTS_TILES; ++i) {
            const unsigned column = (tile + i * apart) * width + lane;
            if (i >= tiles || column >= p.inner)
                continue;
            if (rows == 0) {
                put_empty(group, column);
                continue;
            }
            const double first = loaded[0][i].value();
            const TwoSum sum = rows > 1 ? two_sum(first, loaded[1][i].value()) : TwoSum{first, 0};
            const double x = sum.sum != sum.sum           ? quiet_nan<double>(0)
                             : wide || !isfinite(sum.sum) ? sum.sum
                                                          : to_odd(sum.sum, sum.error);
            results.store(result_of(group, column), x);
        }
    }
    __device__ void few_rows(unsigned group, unsigned tile, unsigned tiles, unsigned apart) const {
        if (wide || p.from == GR_GROUP_f32 || p.from == GR_GROUP_c64)
            few_rows_as<Held>(group, tile, tiles, apart);
        else if (p.from == GR_GROUP_f16)
            few_rows_as<gr_f16>(group, tile, tiles, apart);
        else
            few_rows_as<gr_bf16>(group, tile, tiles, apart);
    }
    // For a block.
    __device__ void tile_by_block(unsigned group, unsigned tile) const {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
        Expansion sum =
            sum_slots(group, tile * width + threadIdx.x % width, threadIdx.x / width, blockDim.x / width);
        if (lane < width)
            parts[warp * width + lane] = sum;
        __syncthreads();
        for (unsigned half = warps / 2; half > 0; half /= 2) {
            if (warp < half && lane < width) {
                sum = sum_of(sum, parts[(warp + half) * width + lane]);
                parts[warp * width + lane] = sum;
            }
            __syncthreads();
        }
        if (warp == 0)
            finish_tile(group, tile, sum);
        __syncthreads();
    }
};

template <class Held> __device__ void sum_group_lists(const gr_group_lists_params &q) {
    __shared__ unsigned listed;
    using Sums = GroupLists<Held>;
    const gr_group_params &p = q.rows;
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32, width = 1u << p.columns_shift;
    int64_t *const states = gr::exact::block_state(); // of the warps
    auto *const parts = reinterpret_cast<Expansion *>(states + warps * Sums::words);
    auto *const counts = reinterpret_cast<uint32_t *>(parts + warps * width);
    const unsigned block = blockIdx.x, split = blockIdx.y, line = p.lines == 1 ? 0 : block / q.line_blocks;
    const Sums sums{p,
                    width,
                    q.groups,
                    line,
                    uint64_t(block - line * q.line_blocks) * q.groups,
                    states + warp * Sums::words,
                    parts,
                    counts,
                    counts + q.groups,
                    counts + 2 * q.groups,
                    reinterpret_cast<uint16_t *>(counts + 2 * q.groups + p.length),
                    &listed};
    if (threadIdx.x == 0)
        listed = 0;
    for (unsigned i = threadIdx.x; i < q.groups; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    sums.find_rows();
    const unsigned rest = unsigned(p.groups - sums.first), groups = min(q.groups, rest),
                   all_tiles = unsigned((p.inner + width - 1) >> p.columns_shift);
    constexpr unsigned at_once = GR_GROUP_LISTS_TILES;
    const unsigned group_tasks = (q.tiles + at_once - 1) / at_once, tasks = groups * group_tasks;
    const unsigned most = (tasks >= warps ? 8 : 1) * Sums::in_flight * (32 / width); // rows for a warp
    const unsigned few = width < 32 ? 0 : p.options & GR_GROUP_MEAN ? 1 : Sums::few;
    for (unsigned task = warp; task < tasks; task += warps) {
        const unsigned group = group_tasks == 1 ? task : task / group_tasks,
                       first = (task - group * group_tasks) * at_once, count = min(q.tiles - first, at_once),
                       tile = split + first * q.splits;
        if (counts[group] <= few)
            sums.few_rows(group, tile, count, q.splits);
        else if (counts[group] <= most)
            for (unsigned i = 0; i < count; ++i)
                sums.tile_by_warp(group, tile + i * q.splits);
    }
    for (unsigned group = 0; group < groups; ++group)
        if (counts[group] > most)
            for (unsigned tile = split; tile < all_tiles; tile += q.splits)
                sums.tile_by_block(group, tile);
}

GR_ENTRY((GR_GROUP_LISTS_MAX_THREADS, 2), group_lists_narrow, gr_group_lists_params, sum_group_lists<float>)
GR_ENTRY((GR_GROUP_LISTS_MAX_THREADS, 2), group_lists_wide, gr_group_lists_params, sum_group_lists<double>)
