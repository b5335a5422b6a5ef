// Elements far from the windows of a partition. A result of float64 has planes for some digits around the
// windows, not for all 67. The group of an element with other digits is far: the block sums its rows again,
// in planes for all digits. The planes of the partition, which are zero by then, are the memory of those of
// some far groups at a time.
#pragma once

#include "groups/planes.cuh"
#include "groups/segments.cuh"

namespace gr::groups {

// Which planes the results of a partition have: all, or of float64 those from `lowest` on.
template <class In> struct PlaneRange {
    static constexpr bool has_far = false;
    static constexpr unsigned lowest = 0;
    __device__ PlaneRange(const gr_partition_params &, int) {
    }
    __device__ static unsigned last() {
        return Planes<In>::count - 1;
    }
    __device__ bool is_far(In) const {
        return false;
    }
};
template <> struct PlaneRange<double> {
    static constexpr bool has_far = true;
    static constexpr int above = 2; // digits above the middle that a window has
    unsigned lowest, count;         // planes

    // `position`: the first digit of the windows, in bits.
    __device__ PlaneRange(const gr_partition_params &q, int position) : count(q.planes) {
        const int wanted = position / GR_GROUP_DOUBLE_BITS - int(count) / 2 + above;
        lowest = unsigned(max(0, min(wanted, GR_GROUP_DOUBLE_PLANES - int(count))));
    }
    __device__ unsigned last() const {
        return count - 1;
    }
    // Whether x is a finite number other than 0 that has digits in no plane; it has up to three digits.
    __device__ bool is_far(double x) const {
        constexpr unsigned below = GR_EXACT_WIDE_BELOW - Planes<double>::bias;
        const unsigned exponent = Addends<double>::exponent(x),
                       digit = ((exponent > 0 ? exponent : 1) + below) / GR_GROUP_DOUBLE_BITS;
        return x != 0 && exponent < Addends<double>::infinity && digit - lowest > count - 3;
    }
};

// The far groups of a partition, of float64.
struct FarGroups {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS;
    const gr_partition_params &q;
    const uint32_t partition;
    const uint32_t *const bits; // one per group of the partition, in shared memory
    const unsigned capacity;    // far groups that have planes at a time
    // In shared memory, which has at least six words per group:
    uint32_t *const before;           // [32 groups]: the number of far groups before them
    uint32_t *const lowest, *highest; // [slot]: of the digits in use

    __device__ FarGroups(const gr_partition_params &params, uint32_t partition, const uint32_t *bits,
                         uint32_t *shared)
        : q(params), partition(partition), bits(bits),
          capacity((params.planes << params.shift) / GR_GROUP_DOUBLE_PLANES), before(shared),
          lowest(before + words()), highest(lowest + capacity) {
    }
    // Words with a bit for each group.
    __device__ unsigned words() const {
        return ((1u << q.shift) + 31) / 32;
    }
    __device__ uint64_t first_group() const {
        return uint64_t(partition) << q.shift;
    }
    __device__ bool has(unsigned group) const {
        return bits[group / 32] >> group % 32 & 1;
    }
    // The number of a far group among all far groups.
    __device__ unsigned number(unsigned group) const {
        return before[group / 32] + __popc(bits[group / 32] & ((1u << group % 32) - 1));
    }
    __device__ int64_t *digit_at(unsigned digit, unsigned slot) const {
        const unsigned i = digit * capacity + slot, group = i & ((1u << q.shift) - 1);
        return reinterpret_cast<int64_t *>(q.sums.planes) + (i >> q.shift) * q.sums.results + first_group() +
               group;
    }

    // Numbers the far groups, and returns how many there are; for all threads of a block.
    __device__ unsigned enumerate(Segments &segments) const {
        const unsigned count = threadIdx.x < words() ? __popc(bits[threadIdx.x]) : 0;
        uint32_t all;
        const uint32_t upto = segments.prefix_sum(count, 0, all);
        if (threadIdx.x < words())
            before[threadIdx.x] = upto - count;
        __syncthreads();
        return all;
    }
    __device__ void add_to_digit(unsigned slot, unsigned digit, int64_t addend) const {
        atomicMin(&lowest[slot], digit);
        atomicMax(&highest[slot], digit);
        atomicAdd(reinterpret_cast<unsigned long long *>(digit_at(digit, slot)),
                  static_cast<unsigned long long>(addend));
    }
    // Adds the rows of the groups from number `first` on that have planes.
    __device__ void add_rows(Segments &segments, unsigned first) const {
        for (unsigned slot = threadIdx.x; slot < capacity; slot += threads) {
            lowest[slot] = GR_GROUP_DOUBLE_PLANES;
            highest[slot] = 0;
        }
        __syncthreads();
        const PartitionShare whole = {partition, 1, 0, 0};
        uint32_t count = 0;
        for (uint64_t tile = 0; tile < q.tiles; tile += threads) {
            segments.read(q, whole, tile, count);
            SegmentRows rows(segments);
            for (uint32_t row; rows.next(row);) {
                const unsigned group = reinterpret_cast<const uint16_t *>(q.locals)[row];
                if (!has(group) || number(group) - first >= capacity)
                    continue;
                const unsigned slot = number(group) - first;
                Planes<double>::add(
                    reinterpret_cast<const double *>(q.values)[row],
                    [&](unsigned digit, int64_t addend) { add_to_digit(slot, digit, addend); });
            }
            __syncthreads();
        }
    }
    // The bits of a sum divided by `divisor`. Zeroes the planes.
    __device__ uint64_t round(unsigned slot, uint64_t divisor) const {
        constexpr unsigned more = 4; // two digits for carries, a count and flags
        int64_t state[GR_EXACT_WIDE_WORDS + more];
        const unsigned from = lowest[slot], digits = highest[slot] - from + 1, words = digits + more;
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < digits; ++i) {
            int64_t *const at = digit_at(from + i, slot);
            state[i] = __ldcg(at);
            *at = 0;
        }
        state[digits] = state[digits + 1] = 0;
        state[words - 1] = GR_EXACT_NOT_MINUS_ZERO;                               // a far element is no zero
        const uint32_t below = GR_EXACT_WIDE_BELOW - GR_GROUP_DOUBLE_BITS * from; // wraps: it is subtracted
        return gr_exact_result(state, {words, below}, divisor, Planes<double>::format);
    }
    // Writes the results; for all threads of a block. divisor(group) is what the sum is divided by.
    template <class Divisor> __device__ void sum(Segments &segments, const Divisor &divisor) const {
        const unsigned all = enumerate(segments);
        GR_EXACT_NO_UNROLL
        for (unsigned first = 0; first < all; first += capacity) {
            add_rows(segments, first);
            for (unsigned group = threadIdx.x; group >> q.shift == 0; group += threads)
                if (has(group) && number(group) - first < capacity)
                    reinterpret_cast<uint64_t *>(q.sums.out)[first_group() + group] =
                        round(number(group) - first, divisor(group));
            __syncthreads();
        }
    }
};

} // namespace gr::groups
