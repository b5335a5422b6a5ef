// Exact sums and means of segments by a warp or a block each, for arrays of few elements: the only launch, as
// sums that registers do not hold are added up again at once. Of larger arrays, segments of many rows are
// left to segment_lost.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "segments/lost_sums.cuh"

using namespace gr::segments;
using namespace gr::common;
using namespace gr::grid;

template <class In> struct ShortSums : LostSums<In> {
    using Segment = typename LostSums<In>::Segment;
    using Bits = typename LostSums<In>::Bits;
    using LostSums<In>::p;
    static constexpr unsigned in_flight = 8;

    // The sum of every `step`-th row from `begin` on, several of them in flight.
    __device__ Expansion sum_rows(const Segment &segment, int64_t begin, unsigned step) const {
        const In *in = reinterpret_cast<const In *>(p.in) + int64_t(segment.element);
        Expansion sum = {-0.0, 0, 0};
        for (int64_t i = begin; i < segment.end; i += in_flight * step) {
            In loaded[in_flight];
            double x[in_flight];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j)
                if (i + j * step < segment.end)
                    loaded[j] = in[(i + j * step) * p.along_stride];
#pragma unroll
            for (unsigned j = 0; j < in_flight; ++j)
                x[j] = i + j * step < segment.end ? Value<double>::of(loaded[j]) : -0.0;
            add_all<sizeof(In) < 8>(sum, x);
        }
        return sum;
    }
    static __device__ Expansion reduce_warp(Expansion x) {
        if (Expansion sum = x; add_lanes(sum))
            return sum;
#pragma unroll
        for (unsigned apart = 16; apart > 0; apart /= 2)
            x = sum_of(x, shuffle_down(x, apart));
        return x;
    }

    // Writes the result of a segment that needs no state of all exponents. Returns false if there is none;
    // for one thread.
    __device__ bool finish(const Segment &segment, const Expansion &sum) const {
        const uint32_t to = sizeof(In) == 8                    ? SEGMENT_f64
                            : sizeof(In) == 4                  ? SEGMENT_f32
                            : std::is_same<In, gr_bf16>::value ? SEGMENT_bf16
                                                               : SEGMENT_f16;
        const ExactResults results{p.out, 0, to, (p.flags & GR_SEGMENT_MEAN) != 0};
        const double x = results.rounded(sum, segment.end - segment.begin);
        if (x != x && __double2loint(x) == int(lost_payload))
            return false;
        results.store(segment.result, x);
        return true;
    }
    __device__ void put_empty(const Segment &segment) const {
        reinterpret_cast<Bits *>(p.out)[segment.result] = *reinterpret_cast<const Bits *>(p.empty_result);
    }
    __device__ void leave(const Segment &segment) const {
        const In lost = quiet_nan<In>(lost_payload);
        reinterpret_cast<Bits *>(p.out)[segment.result] = *reinterpret_cast<const Bits *>(&lost);
        mark_lost(p.lost);
    }

    // For a warp: a segment, or whether it is for the block.
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
        const Expansion sum = reduce_warp(sum_rows(segment, segment.begin + lane, 32));
        const bool lost = lane == 0 && !finish(segment, sum);
        if (__any_sync(0xffffffffu, lost))
            this->by_warp(segment);
        return false;
    }
    // For a block.
    __device__ void by_block(int64_t *state, uint64_t result) const {
        __shared__ Expansion parts[GR_SHORT_SUMS_THREADS / 32];
        __shared__ bool lost;
        const Segment segment = this->segment_of(result);
        const int64_t rows = segment.end - segment.begin;
        if (rows <= 0 || (p.lost != 0 && rows > GR_SHORT_SUMS_MAX_ROWS)) {
            if (threadIdx.x == 0)
                rows <= 0 ? put_empty(segment) : leave(segment);
            return;
        }
        const Expansion own = reduce_warp(sum_rows(segment, segment.begin + threadIdx.x, blockDim.x));
        if (threadIdx.x % 32 == 0)
            parts[threadIdx.x / 32] = own;
        __syncthreads();
        if (threadIdx.x < 32) {
            const Expansion sum =
                reduce_warp(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : Expansion{-0.0, 0, 0});
            if (threadIdx.x == 0)
                lost = !finish(segment, sum);
        }
        __syncthreads();
        if (lost)
            this->long_one(state, result);
    }
};

template <class In> __device__ void sum_short(const gr_lost_sums_params &p) {
    constexpr unsigned warps = LostSums<In>::warps;
    int64_t *states = gr::exact::block_state(); // of the warps
    __shared__ bool waits[warps];
    const unsigned warp = threadIdx.x / 32;
    const ShortSums<In> sums{{p, states + warp * LostSums<In>::words}};
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    if (p.flags & GR_SEGMENT_BY_BLOCK)
        return sums.by_block(states, blockIdx.x);
    const uint64_t first = uint64_t(blockIdx.x) * warps;
    const bool waiting = sums.is_for_block(first + warp);
    if (threadIdx.x % 32 == 0)
        waits[warp] = waiting;
    __syncthreads();
    for (unsigned w = 0; w < warps; ++w)
        if (waits[w]) {
            sums.by_block(states, first + w);
            __syncthreads();
        }
}

#define GR_SHORT_SUMS_ENTRY(name, In)                                                                        \
    GR_ENTRY((GR_SHORT_SUMS_THREADS), segment_short_##name, gr_lost_sums_params, sum_short<In>)
GR_SHORT_SUMS_ENTRY(f32, float)
GR_SHORT_SUMS_ENTRY(f64, double)
GR_SHORT_SUMS_ENTRY(f16, gr_f16)
GR_SHORT_SUMS_ENTRY(bf16, gr_bf16)
