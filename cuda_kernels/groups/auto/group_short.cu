// Exact sums and means of groups of few rows of one column, in one launch. A block has one group: it reads
// all labels and elements, and adds up the rows of its group in registers, as segment_short does. A sum that
// registers do not hold is computed again in a state of all exponents.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "grid/block_state.cuh"
#include "groups/rows.cuh"
#include "groups/short/params.h"
#include "segments/lost_sums.cuh"

using namespace gr::groups;
using namespace gr::segments;
using namespace gr::grid;

template <class In> struct ShortGroup {
    static constexpr unsigned in_flight = GR_SHORT_GROUPS_IN_FLIGHT;
    static constexpr bool wide = std::is_same<In, double>::value;
    static constexpr unsigned words = wide ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
                              below = wide ? GR_EXACT_WIDE_BELOW : GR_EXACT_NARROW_BELOW;
    using Bits = typename gr::common::Bits<sizeof(In)>::type;

    const gr_group_params &p;
    const unsigned line, group; // of the block
    int64_t *const state;       // in shared memory, as all that follows
    unsigned *const found;      // rows of the group

    // Calls add() for batches of every `step`-th row from `first` on, with -0 instead of elements of other
    // groups. Returns the number of the group's elements.
    template <class Add> __device__ unsigned each_batch(unsigned first, unsigned step, const Add &add) const {
        const In *in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride;
        const unsigned rows = unsigned(p.length);
        unsigned own_rows = 0;
        for (unsigned base = first; base < rows; base += in_flight * step) {
            Loaded<In> loaded[in_flight];
            uint64_t label[in_flight];
            load_labels(p, base, step, label);
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i)
                if (const unsigned row = base + i * step; row < rows)
                    loaded[i].load(in + int64_t(row) * p.along_stride);
            double x[in_flight];
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i) {
                const bool own = label[i] == group;
                own_rows += own;
                x[i] = own ? loaded[i].value() : -0.0;
            }
            add(x);
        }
        return own_rows;
    }
    // The sum of the group, for the first thread of a block.
    __device__ Expansion sum() const {
        __shared__ Expansion parts[GR_SHORT_GROUPS_MAX_THREADS / 32];
        constexpr bool narrow = !wide;
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
        Expansion sum = {-0.0, 0, 0};
        unsigned own_rows = each_batch(threadIdx.x, blockDim.x,
                                       [&](const double(&x)[in_flight]) { add_all<narrow>(sum, x); });
#pragma unroll
        for (unsigned apart = 16; apart > 0; apart /= 2)
            own_rows += __shfl_down_sync(0xffffffffu, own_rows, apart);
        sum = sum_of_lanes<narrow>(sum, 32);
        if (lane == 0 && own_rows > 0)
            atomicAdd(found, own_rows);
        if (lane == 0)
            parts[warp] = sum;
        __syncthreads();
        if (warp > 0 || warps == 1)
            return sum;
        return sum_of_lanes<narrow>(lane < warps ? parts[lane] : Expansion{-0.0, 0, 0}, warps);
    }

    __device__ uint64_t result() const {
        return uint64_t(line) * p.groups + group;
    }
    // Writes the sum or mean. Returns false if the sum is lost; for one thread.
    __device__ bool finish(const Expansion &sum) const {
        const unsigned rows = *found;
        if (rows == 0) {
            reinterpret_cast<Bits *>(p.out)[result()] = *reinterpret_cast<const Bits *>(p.empty_result);
            return true;
        }
        constexpr uint32_t to = wide                               ? SEGMENT_f64
                                : sizeof(In) == 4                  ? SEGMENT_f32
                                : std::is_same<In, gr_bf16>::value ? SEGMENT_bf16
                                                                   : SEGMENT_f16;
        const ExactResults results{p.out, 0, to, (p.options & GR_GROUP_MEAN) != 0};
        return results.put_unless_lost(result(), sum, rows);
    }
    // A lost sum, in a state of all exponents; for a warp.
    __device__ void sum_again() const {
        WarpState<words, below> sum(state);
        each_batch(threadIdx.x, 32, [&](const double(&x)[in_flight]) { sum.add(x); });
        const uint64_t divisor = p.options & GR_GROUP_MEAN ? *found : 1;
        const uint64_t bits = sum.round(divisor, gr::exact::Format<In>::format);
        if (threadIdx.x == 0)
            reinterpret_cast<Bits *>(p.out)[result()] = static_cast<Bits>(bits);
    }
};

template <class In> __device__ void sum_short_groups(const gr_short_groups_params &q) {
    __shared__ unsigned found;
    const gr_group_params &p = q.rows;
    const unsigned line = p.lines == 1 ? 0 : blockIdx.x / unsigned(p.groups);
    const ShortGroup<In> sums{p, line, blockIdx.x - line * unsigned(p.groups), gr::exact::block_state(),
                              &found};
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const Expansion sum = sums.sum();
    if (threadIdx.x >= 32)
        return;
    const bool lost = threadIdx.x == 0 && !sums.finish(sum);
    if (__any_sync(0xffffffffu, lost))
        sums.sum_again();
}

#define GR_SHORT_GROUPS_ENTRY(name, In)                                                                      \
    GR_ENTRY((GR_SHORT_GROUPS_MAX_THREADS, 2), group_short_##name, gr_short_groups_params,                   \
             sum_short_groups<In>)
GR_SHORT_GROUPS_ENTRY(f32, float)
GR_SHORT_GROUPS_ENTRY(f64, double)
GR_SHORT_GROUPS_ENTRY(f16, gr_f16)
GR_SHORT_GROUPS_ENTRY(bf16, gr_bf16)
