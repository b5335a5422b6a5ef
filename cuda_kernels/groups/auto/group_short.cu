// Exact sums and means of groups of few rows in one launch. A block has one group: it reads all labels, and
// adds up the rows of its group in registers, as segment_short does. A sum that registers do not hold is
// computed again in a state of all exponents.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "groups/rows.cuh"
#include "groups/short/params.h"
#include "segments/lost_sums.cuh"

using namespace gr::groups;
using namespace gr::segments;
using namespace gr::grid;

constexpr unsigned few_rows = 2 * GR_SHORT_GROUPS_IN_FLIGHT; // of a group, which a warp adds up alone

template <class In> struct ShortGroup {
    static constexpr unsigned in_flight = GR_SHORT_GROUPS_IN_FLIGHT;
    static constexpr bool wide = std::is_same<In, double>::value;
    static constexpr unsigned words = wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
                              below = wide ? GR_EXACT_WIDE_BELOW : GR_EXACT_NARROW_BELOW;
    using Bits = typename gr::common::Bits<sizeof(In)>::type;

    const gr_group_params &p;
    const unsigned width;                 // columns per tile
    const uint64_t line, group;           // of the block
    int64_t *const state;                 // in shared memory, as all that follows
    Expansion *const parts;               // sums of each warp, by column
    uint16_t *const list;                 // numbers of the rows of the group; none for one column
    unsigned *const listed, *const found; // rows of the group: in the list; of one column
    unsigned *const filled;               // warps that have rows of the group
    unsigned *const lost;                 // columns of a tile whose sums are lost

    // Writes the numbers of the group's rows to the list; for a block.
    __device__ void find_rows() const {
        const unsigned lane = threadIdx.x % 32;
        for (unsigned base = 0; base < p.length; base += in_flight * blockDim.x) {
            uint64_t label[in_flight];
            load_labels(p, base + threadIdx.x, blockDim.x, label);
            unsigned index[in_flight], own_rows = 0;
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i) {
                const unsigned own = __ballot_sync(0xffffffffu, label[i] == group);
                index[i] = own_rows + __popc(own & ((1u << lane) - 1));
                own_rows += __popc(own);
            }
            const unsigned first =
                __shfl_sync(0xffffffffu, lane == 0 && own_rows > 0 ? atomicAdd(listed, own_rows) : 0, 0);
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i)
                if (label[i] == group)
                    list[first + index[i]] = uint16_t(base + threadIdx.x + i * blockDim.x);
        }
        __syncthreads();
    }

    // Calls add() for batches of elements of a column, with -0 instead of elements of other groups. Returns
    // the number of the group's elements. A single column is read together with the labels.
    template <class Add>
    __device__ unsigned each_batch(uint64_t column, unsigned slot, unsigned slots, const Add &add) const {
        const In *in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride +
                       int64_t(column / p.components) * p.inner_stride + int64_t(column % p.components);
        const bool in_list = p.inner > 1;
        const unsigned rows = in_list ? *listed : unsigned(p.length);
        unsigned own_rows = 0;
        for (unsigned first = slot; first < rows; first += in_flight * slots) {
            In loaded[in_flight];
            bool own[in_flight];
            uint64_t label[in_flight];
            if (!in_list)
                load_labels(p, first, slots, label);
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i) {
                const unsigned at = first + i * slots;
                own[i] = at < rows;
                if (own[i])
                    loaded[i] = in[int64_t(in_list ? list[at] : at) * p.along_stride];
            }
            double x[in_flight];
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i) {
                own[i] = own[i] && (in_list || label[i] == group);
                own_rows += own[i];
                x[i] = own[i] ? Value<double>::of(loaded[i]) : -0.0;
            }
            add(x);
        }
        return own_rows;
    }

    // The number of rows of all lanes, for the first one.
    static __device__ unsigned sum_lanes(unsigned rows) {
#pragma unroll
        for (unsigned apart = 16; apart > 0; apart /= 2)
            rows += __shfl_down_sync(0xffffffffu, rows, apart);
        return rows;
    }
    // The sums of a tile's columns, for the first lanes of a block. Lanes and warps without rows are skipped.
    __device__ Expansion sum_tile(uint64_t column) const {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        Expansion sum = {-0.0, 0, 0};
        unsigned own_rows = 0;
        if (column < p.inner)
            own_rows = each_batch(column, threadIdx.x / width, blockDim.x / width,
                                  [&](const double(&x)[in_flight]) { add_all<sizeof(In) < 8>(sum, x); });
        unsigned lanes = __ballot_sync(0xffffffffu, own_rows > 0);
        if (lanes != 0 && p.inner == 1)
            own_rows = sum_lanes(own_rows);
        if (lane == 0 && lanes != 0) {
            atomicOr(filled, 1u << warp);
            if (p.inner == 1)
                atomicAdd(found, own_rows);
        }
#pragma unroll 1
        for (unsigned apart = 16; apart >= width; apart /= 2)
            if (lanes >> apart != 0) {
                sum = sum_of(sum, shuffle_down(sum, apart));
                lanes = (lanes | lanes >> apart) & ((1u << apart) - 1);
            }
        if (lanes != 0 && warp > 0 && lane < width)
            parts[warp * width + lane] = sum;
        __syncthreads();
        unsigned warps = *filled;
#pragma unroll 1
        for (unsigned half = blockDim.x / 64; half > 0; half /= 2)
            if (warps >> half != 0) {
                if (warp < half && warps >> (warp + half) & 1 && lane < width)
                    sum = sum_of(sum, parts[(warp + half) * width + lane]);
                if (warp < half && warp > 0 && lane < width)
                    parts[warp * width + lane] = sum;
                warps = (warps | warps >> half) & ((1u << half) - 1);
                __syncthreads();
            }
        return sum;
    }

    __device__ unsigned rows_of_group() const {
        return *listed + *found; // one of them is 0
    }
    // Writes the sum or mean of a column. Returns false if the sum is lost.
    __device__ bool finish(uint64_t column, const Expansion &sum) const {
        const uint64_t result = result_of(column);
        const unsigned rows = rows_of_group();
        if (rows == 0) {
            reinterpret_cast<Bits *>(p.out)[result] =
                reinterpret_cast<const Bits *>(p.empty_result)[column % p.components];
            return true;
        }
        constexpr uint32_t to = wide                               ? SEGMENT_f64
                                : sizeof(In) == 4                  ? SEGMENT_f32
                                : std::is_same<In, gr_bf16>::value ? SEGMENT_bf16
                                                                   : SEGMENT_f16;
        const ExactResults results{p.out, 0, to, (p.options & GR_GROUP_MEAN) != 0};
        const double x = results.rounded(sum, rows);
        if (x != x && __double2loint(x) == int(lost_payload))
            return false;
        results.store(result, x);
        return true;
    }
    __device__ uint64_t result_of(uint64_t column) const {
        return (line * p.groups + group) * p.inner + column;
    }

    // A lost sum, in a state of all exponents; for a warp.
    __device__ void sum_again(uint64_t column) const {
        const unsigned lane = threadIdx.x % 32;
        for (unsigned i = lane; i < words; i += 32)
            state[i] = 0;
        __syncwarp();
        uint32_t flags = 0;
        each_batch(column, lane, 32, [&](const double(&x)[in_flight]) {
#pragma unroll 1
            for (unsigned i = 0; i < in_flight; ++i)
                flags |= add_to_shared_state(state, x[i], below);
        });
        if (flags != 0)
            gr::exact::join_block_flags(state + words - 1, flags);
        __syncwarp();
        const uint64_t divisor = p.options & GR_GROUP_MEAN ? rows_of_group() : 1;
        const uint64_t bits =
            gr::exact::warp_result<words>(state, below, divisor, gr::exact::Format<In>::format);
        if (lane == 0)
            reinterpret_cast<Bits *>(p.out)[result_of(column)] = static_cast<Bits>(bits);
        __syncwarp();
    }

    // Writes the results of a tile from the sums of the first lanes of a warp. Returns the lost ones.
    __device__ unsigned finish_tile(uint64_t column, const Expansion &sum) const {
        return __ballot_sync(0xffffffffu,
                             threadIdx.x % 32 < width && column < p.inner && !finish(column, sum));
    }
    // Computes the results of a tile, if a group has few rows; for a warp.
    __device__ void reduce_tile_alone(uint64_t tile) const {
        const uint64_t first = tile * width, column = first + threadIdx.x % 32;
        Expansion sum = {-0.0, 0, 0};
        if (column < p.inner)
            each_batch(column, 0, 1, [&](const double(&x)[in_flight]) { add_all<sizeof(In) < 8>(sum, x); });
        for (unsigned rest = finish_tile(column, sum); rest != 0; rest &= rest - 1)
            sum_again(first + __ffs(int(rest)) - 1);
    }
    // Computes the results of a tile; for a block.
    __device__ void reduce_tile(uint64_t tile) const {
        const uint64_t first = tile * width, column = first + threadIdx.x % width;
        const Expansion sum = sum_tile(column);
        if (threadIdx.x < 32) {
            const unsigned all = finish_tile(column, sum);
            if (threadIdx.x == 0)
                *lost = all;
        }
        __syncthreads();
        if (threadIdx.x == 0)
            *filled = 0;
        unsigned number = 0; // of a lost sum, which a warp adds up again
        for (unsigned rest = *lost; rest != 0; rest &= rest - 1)
            if (number++ % (blockDim.x / 32) == threadIdx.x / 32)
                sum_again(first + __ffs(int(rest)) - 1);
        __syncthreads();
    }
};

template <class In> __device__ void sum_short_groups(const gr_short_groups_params &q) {
    __shared__ unsigned listed, found, filled, lost;
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int64_t *const states = gr::exact::block_state(); // of the warps
    auto *const parts = reinterpret_cast<Expansion *>(states + warps * ShortGroup<In>::words);
    const unsigned width = 1u << q.rows.columns_shift;
    const uint64_t block = blockIdx.x / q.splits, line = block / q.rows.groups;
    const ShortGroup<In> sums{q.rows,
                              width,
                              line,
                              block - line * q.rows.groups,
                              states + warp * ShortGroup<In>::words,
                              parts,
                              reinterpret_cast<uint16_t *>(parts + warps * width),
                              &listed,
                              &found,
                              &filled,
                              &lost};
    if (threadIdx.x == 0)
        listed = found = filled = 0;
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    if (q.rows.inner > 1)
        sums.find_rows();
    const uint64_t split = blockIdx.x % q.splits, tiles = (q.rows.inner + width - 1) >> q.rows.columns_shift;
    if (width == 32 && listed <= few_rows)
        for (uint64_t tile = split * warps + warp; tile < tiles; tile += q.splits * warps)
            sums.reduce_tile_alone(tile);
    else
        for (uint64_t tile = split; tile < tiles; tile += q.splits)
            sums.reduce_tile(tile);
}

#define GR_SHORT_GROUPS_ENTRY(name, In)                                                                      \
    GR_ENTRY((GR_SHORT_GROUPS_MAX_THREADS, 3), group_short_##name, gr_short_groups_params,                   \
             sum_short_groups<In>)
GR_SHORT_GROUPS_ENTRY(f32, float)
GR_SHORT_GROUPS_ENTRY(f64, double)
GR_SHORT_GROUPS_ENTRY(f16, gr_f16)
GR_SHORT_GROUPS_ENTRY(bf16, gr_bf16)
