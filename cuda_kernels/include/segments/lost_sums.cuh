// Exact sums of segments in states of all exponents, in shared memory: of a warp, of a block, or of several
// blocks.
#pragma once

#include "common/vec16.cuh"
#include "exact/finish.cuh"
#include "segments/exact_sums.cuh"

namespace gr::segments {

constexpr uint64_t most_rows = 2048; // of a segment that a warp adds up; the block shares longer ones

// Adds a double to a state in shared memory. Returns the element's flags.
inline __device__ uint32_t add_to_shared_state(int64_t *state, double x, unsigned below) {
    const gr_exact_decomposed parts = gr_exact_decompose(uint64_t(__double_as_longlong(x)));
    if (parts.value != 0) {
        const int position = int(parts.position) - 1075 + int(below), less = max(0, -position);
        gr::exact::add_pieces(state, parts.value >> less, unsigned(position + less));
    }
    return parts.flags;
}

// An exact sum of a warp, in a state of `words` words in shared memory, the first one of which stands for
// units of 2^-below.
template <unsigned words, unsigned below> struct WarpState {
    int64_t *const state;
    uint32_t flags; // of the lane's elements

    __device__ explicit WarpState(int64_t *shared) : state(shared), flags(0) {
        for (unsigned i = threadIdx.x % 32; i < words; i += 32)
            state[i] = 0;
        __syncwarp();
    }
    template <unsigned count> __device__ void add(const double (&x)[count]) {
#pragma unroll 1
        for (unsigned i = 0; i < count; ++i)
            flags |= add_to_shared_state(state, x[i], below);
    }
    // Returns the bits of the sum, divided by `divisor` and rounded once.
    __device__ uint64_t round(uint64_t divisor, gr_exact_format format) const {
        if (flags != 0)
            gr::exact::join_block_flags(state + words - 1, flags);
        __syncwarp();
        return gr::exact::warp_result<words>(state, below, divisor, format);
    }
};

// An element as it is in memory, -0 until it is loaded: a register that a load may leave as it was would be
// in use from one batch to the next.
template <class In> struct Loaded {
    using Bits = typename gr::common::Bits<sizeof(In)>::type;
    Bits bits = Bits(Bits(1) << (8 * sizeof(Bits) - 1));

    __device__ void load(const In *at) {
        bits = *reinterpret_cast<const Bits *>(at);
    }
    __device__ double value() const {
        In x;
        memcpy(&x, &bits, sizeof x);
        return Value<double>::of(x);
    }
};

template <class In> struct LostSums {
    static constexpr unsigned threads = GR_LOST_SUMS_THREADS, warps = threads / 32;
    static constexpr bool wide = std::is_same<In, double>::value;
    static constexpr unsigned words = wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
                              below = wide ? GR_EXACT_WIDE_BELOW : GR_EXACT_NARROW_BELOW;
    using Bits = typename gr::common::Bits<sizeof(In)>::type;

    const gr_lost_sums_params &p;
    int64_t *const state; // of the warp

    // A result, and the rows that it sums up.
    struct Segment {
        uint64_t result, element; // element: of its line and column, in row 0
        int64_t begin, end;
    };
    __device__ int64_t offset(uint64_t i) const {
        return max(int64_t(0), min(reinterpret_cast<const int64_t *>(p.offsets)[i], int64_t(p.rows)));
    }
    __device__ Segment segment_of(uint64_t result) const {
        if (p.results == p.segments) // one line of one column: without divisions
            return {result, 0, offset(result), offset(result + 1)};
        const uint64_t row = result / p.columns, column = result - row * p.columns, line = row / p.segments,
                       segment = row - line * p.segments;
        const int64_t element = int64_t(line) * p.line_stride +
                                int64_t(column / p.components) * p.inner_stride +
                                int64_t(column % p.components);
        return {result, uint64_t(element), offset(segment), offset(segment + 1)};
    }
    __device__ bool is_lost(uint64_t result) const {
        const In lost = quiet_nan<In>(lost_payload);
        return result < p.results &&
               reinterpret_cast<const Bits *>(p.out)[result] == *reinterpret_cast<const Bits *>(&lost);
    }

    __device__ void clear(int64_t *sum, unsigned from, unsigned step) const {
        for (unsigned i = from; i < words; i += step)
            sum[i] = 0;
    }
    // Adds the rows from `begin` to before `end`, `step` apart, to a state.
    __device__ void add(int64_t *sum, const Segment &segment, int64_t begin, unsigned step) const {
        const In *in = reinterpret_cast<const In *>(p.in) + int64_t(segment.element);
        const int64_t *rows =
            p.permutation != 0 ? reinterpret_cast<const int64_t *>(p.offsets) + p.permutation : nullptr;
        // The other part of a complex number, as NaN in one of them is NaN.
        const int64_t other = p.components == 1 ? 0 : segment.result % 2 == 0 ? 1 : -1;
        uint32_t flags = 0;
        for (int64_t i = begin; i < segment.end; i += step) {
            const int64_t at = (rows != nullptr ? rows[i] : i) * p.along_stride;
            double x = Value<double>::of(in[at]);
            if (p.flags & GR_SEGMENT_SKIP_NAN && (x != x || is_nan(Value<double>::of(in[at + other]))))
                x = 0;
            flags |= add_to_shared_state(sum, x, below);
        }
        if (flags != 0)
            gr::exact::join_block_flags(sum + words - 1, flags);
    }
    // Rounds a state to a result; for a warp.
    __device__ void put(int64_t *sum, const Segment &segment) const {
        const uint64_t rows =
            p.counts == 0 ? uint64_t(segment.end - segment.begin)
                          : reinterpret_cast<const uint64_t *>(p.counts)[segment.result / p.components];
        const uint64_t divisor = p.flags & GR_SEGMENT_MEAN ? rows : 1;
        const uint64_t bits =
            gr::exact::warp_result<words>(sum, below, divisor, gr::exact::Format<In>::format);
        if (threadIdx.x % 32 == 0)
            reinterpret_cast<Bits *>(p.out)[segment.result] = static_cast<Bits>(bits);
        __syncwarp();
    }

    // For a warp: the lost ones of 32 results, but for the long ones, which are told of.
    __device__ unsigned short_ones(uint64_t first) const {
        const unsigned lane = threadIdx.x % 32;
        unsigned lost = __ballot_sync(0xffffffffu, is_lost(first + lane)), later = 0;
        for (; lost != 0; lost &= lost - 1) {
            const unsigned of = __ffs(int(lost)) - 1;
            const Segment segment = segment_of(first + of);
            if (uint64_t(segment.end - segment.begin) > most_rows) {
                later |= 1u << of;
                continue;
            }
            by_warp(segment);
        }
        return later;
    }
    // For a warp.
    __device__ void by_warp(const Segment &segment) const {
        const unsigned lane = threadIdx.x % 32;
        clear(state, lane, 32);
        __syncwarp();
        add(state, segment, segment.begin + lane, 32);
        __syncwarp();
        put(state, segment);
    }
    // For the blocks that share the rows of a result.
    __device__ void shared_one(uint64_t result) const {
        const Segment segment = segment_of(result);
        clear(state, threadIdx.x, threads);
        __syncthreads();
        add(state, segment, segment.begin + blockIdx.y * threads + threadIdx.x, gridDim.y * threads);
        __syncthreads();
        int64_t *whole = reinterpret_cast<int64_t *>(p.states) + result * words;
        if (gr::exact::is_last_to_join<words>(whole) && threadIdx.x < 32)
            put(state, segment);
        __syncthreads();
    }
    // For a block.
    __device__ void long_one(int64_t *sum, uint64_t result) const {
        const Segment segment = segment_of(result);
        clear(sum, threadIdx.x, blockDim.x);
        __syncthreads();
        add(sum, segment, segment.begin + threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x < 32)
            put(sum, segment);
        __syncthreads();
    }
};

} // namespace gr::segments
