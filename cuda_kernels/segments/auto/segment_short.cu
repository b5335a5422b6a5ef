// Exact sums and means of segments by a warp, a block or several blocks each, for arrays of few elements: the
// only launch, as sums that registers do not hold are added up again at once. Of larger arrays, segments of
// many rows are left to segment_lost.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "grid/tickets.cuh"
#include "segments/lost_sums.cuh"

using namespace gr::segments;
using namespace gr::common;
using namespace gr::grid;

template <class In> struct ShortSums : LostSums<In> {
    using Segment = typename LostSums<In>::Segment;
    using Bits = typename LostSums<In>::Bits;
    using LostSums<In>::p;
    static constexpr unsigned in_flight = 8;

    // The sum of every `step`-th row from `first` on, several of them in flight; rows are contiguous.
    __device__ Expansion sum_rows(const Segment &segment, unsigned first, unsigned step) const {
        const In *in = reinterpret_cast<const In *>(p.in) + segment.element + segment.begin;
        const unsigned rows = unsigned(segment.end - segment.begin);
        Expansion sum = {-0.0, 0, 0};
        for (unsigned i = first; i < rows; i += in_flight * step) {
            Loaded<In> loaded[in_flight];
            double x[in_flight];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j)
                if (i + j * step < rows)
                    loaded[j].load(in + (i + j * step));
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j)
                x[j] = loaded[j].value();
            add_all<sizeof(In) < 8>(sum, x);
        }
        return sum;
    }
    static __device__ Expansion reduce_warp(const Expansion &x, unsigned lanes) {
        return sum_of_lanes<(sizeof(In) < 8)>(x, lanes);
    }

    // Writes the result of a segment that needs no state of all exponents. Returns false if there is none;
    // for one thread.
    __device__ bool finish(const Segment &segment, const Expansion &sum) const {
        const uint32_t to = sizeof(In) == 8                    ? SEGMENT_f64
                            : sizeof(In) == 4                  ? SEGMENT_f32
                            : std::is_same<In, gr_bf16>::value ? SEGMENT_bf16
                                                               : SEGMENT_f16;
        const ExactResults results{p.out, 0, to, (p.flags & GR_SEGMENT_MEAN) != 0};
        return results.put_unless_lost(segment.result, sum, segment.end - segment.begin);
    }
    __device__ void put_empty(const Segment &segment) const {
        reinterpret_cast<Bits *>(p.out)[segment.result] = *reinterpret_cast<const Bits *>(p.empty_result);
    }
    __device__ void leave(const Segment &segment) const {
        const In lost = quiet_nan<In>(lost_payload);
        reinterpret_cast<Bits *>(p.out)[segment.result] = *reinterpret_cast<const Bits *>(&lost);
        mark_lost(p.lost);
    }

    // For a warp that has a segment to itself. Returns whether the segment is for the block, as it is long.
    __device__ bool is_for_block(uint64_t result) const {
        if (result >= p.results)
            return false;
        const unsigned lane = threadIdx.x % 32;
        const Segment segment = this->segment_of(result);
        const int64_t rows = segment.end - segment.begin;
        if (rows > int64_t(most_rows))
            return true;
        if (rows <= 0) {
            if (lane == 0)
                put_empty(segment);
            return false;
        }
        const Expansion sum = reduce_warp(sum_rows(segment, lane, 32), unsigned(min(rows, int64_t(32))));
        const bool lost = lane == 0 && !finish(segment, sum);
        if (__any_sync(0xffffffffu, lost))
            this->by_warp(segment);
        return false;
    }
    // The sum of a block's rows of a segment that `blocks` blocks share, for the first thread.
    __device__ Expansion sum_in_block(const Segment &segment, unsigned number, unsigned blocks) const {
        __shared__ Expansion parts[GR_SHORT_SUMS_THREADS / 32];
        const unsigned warps = blockDim.x / 32;
        const Expansion own =
            reduce_warp(sum_rows(segment, number * blockDim.x + threadIdx.x, blocks * blockDim.x),
                        warps == 1 ? unsigned(min(segment.end - segment.begin, int64_t(32))) : 32);
        if (warps == 1)
            return own;
        if (threadIdx.x % 32 == 0)
            parts[threadIdx.x / 32] = own;
        __syncthreads();
        if (threadIdx.x >= 32)
            return own;
        return reduce_warp(threadIdx.x < warps ? parts[threadIdx.x] : Expansion{-0.0, 0, 0}, warps);
    }
    // Publishes the sum of a block. Returns whether the block is the last one of its segment, and then the
    // segment's sum; for a warp.
    __device__ bool join(uint64_t result, unsigned blocks, Expansion &sum) const {
        auto *const slots = reinterpret_cast<Expansion *>(p.slots) + result * gridDim.y;
        unsigned ticket = 0;
        if (threadIdx.x == 0) {
            slots[blockIdx.y] = sum;
            __threadfence();
            ticket = draw_ticket(reinterpret_cast<unsigned *>(p.tickets) + result, blocks);
            __threadfence();
        }
        if (__shfl_sync(0xffffffffu, ticket, 0) != blocks - 1)
            return false;
        sum = {-0.0, 0, 0};
        if (threadIdx.x < blocks)
            sum = {__ldcg(&slots[threadIdx.x].high), __ldcg(&slots[threadIdx.x].middle),
                   __ldcg(&slots[threadIdx.x].low)};
        sum = reduce_warp(sum, blocks);
        return true;
    }
    // For the blocks that share a segment: as many as have rows for all of their threads.
    __device__ void by_blocks(int64_t *state, uint64_t result) const {
        __shared__ bool lost;
        const Segment segment = this->segment_of(result);
        const int64_t rows = segment.end - segment.begin;
        const unsigned number = blockIdx.y;
        unsigned blocks = 1;
        if (gridDim.y > 1 && rows > int64_t(in_flight * blockDim.x))
            blocks =
                unsigned(min(int64_t(gridDim.y), (rows - 1 >> __ffs(int(in_flight * blockDim.x)) - 1) + 1));
        if (number >= blocks)
            return;
        if (rows <= 0 || (p.lost != 0 && rows > int64_t(blocks) * GR_SHORT_SUMS_MAX_ROWS)) {
            if (threadIdx.x == 0 && number == 0)
                rows <= 0 ? put_empty(segment) : leave(segment);
            return;
        }
        Expansion sum = sum_in_block(segment, number, blocks);
        if (threadIdx.x < 32) {
            const bool all = blocks == 1 || join(result, blocks, sum);
            if (threadIdx.x == 0)
                lost = all && !finish(segment, sum);
        }
        __syncthreads();
        if (lost)
            this->long_one(state, result);
    }
};

template <class In> __device__ void sum_short(const gr_lost_sums_params &p) {
    constexpr unsigned warps = LostSums<In>::warps;
    __shared__ bool waits[warps];
    int64_t *const states = gr::exact::block_state(); // of the warps, if they have segments
    const unsigned warp = threadIdx.x / 32;
    const bool by_warp = p.flags & GR_SEGMENT_BY_WARP;
    const ShortSums<In> sums{{p, states + (by_warp ? warp * LostSums<In>::words : 0)}};
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const uint64_t first = by_warp ? uint64_t(blockIdx.x) * warps : blockIdx.x;
    if (by_warp) {
        const bool waiting = sums.is_for_block(first + warp);
        if (threadIdx.x % 32 == 0)
            waits[warp] = waiting;
        __syncthreads();
    }
    for (unsigned w = 0; w < (by_warp ? warps : 1); ++w)
        if (!by_warp || waits[w]) {
            sums.by_blocks(states, first + w);
            if (by_warp)
                __syncthreads();
        }
}

#define GR_SHORT_SUMS_ENTRY(name, In)                                                                        \
    GR_ENTRY((GR_SHORT_SUMS_THREADS, 2), segment_short_##name, gr_lost_sums_params, sum_short<In>)
GR_SHORT_SUMS_ENTRY(f32, float)
GR_SHORT_SUMS_ENTRY(f64, double)
GR_SHORT_SUMS_ENTRY(f16, gr_f16)
GR_SHORT_SUMS_ENTRY(bf16, gr_bf16)
