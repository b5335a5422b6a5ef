// state_begin, state_merge: states of parts of a reduction that stay on the device. One kernel for all
// operators and dtypes, which differ in branches that all threads take alike. Blocks of row 0 have values, of
// row 1 sums, of row 2 sums of squares.
#include "exact/params.h"
#include "ops/ordering.cuh"
#include "states/params.h"

using namespace gr::ops;

enum Dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) DTYPE_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

template <class T> __device__ T &field(uint64_t memory, uint64_t offset, uint64_t i) {
    return reinterpret_cast<T *>(memory + offset)[i];
}

// ---- sums ----

// Writes the words of sums, word k of a state being load(i, k) at place i. Digits hand what they have beyond
// 32 bits to the next one, but one step far, so that all words are worked on at once: digits of up to 34 bits
// stay so.
template <class Load>
__device__ void write_sums(const gr_state_params &p, uint64_t offset, unsigned each, unsigned words,
                           Load load) {
    const unsigned used = GR_STATE_THREADS / words * words, k = threadIdx.x % words;
    const uint64_t count = p.results * each, step = uint64_t(gridDim.x) * used;
    for (uint64_t first = uint64_t(blockIdx.x) * used; first < count; first += step) {
        const uint64_t i = first + threadIdx.x;
        const bool is_mine = threadIdx.x < used && i < count;
        int64_t word = 0;
        if (is_mine) {
            word = load(i, k);
            if (k + 3 < words)
                word &= 0xffffffff;
            if (k > 0 && k + 2 < words)
                word += load(i - 1, k - 1) >> 32;
        }
        __syncthreads(); // all has been read that threads of this block write
        if (is_mine)
            field<int64_t>(p.target, offset, i) = word;
    }
}

// Whether the highest digit has far more than its 32 bits. Digits of two states of which neither has as many
// add up in 64 bits.
__device__ bool is_beyond(int64_t highest_digit) {
    return highest_digit >= int64_t(1) << 40 || highest_digit < -(int64_t(1) << 40);
}

// The flags are the last word, the highest digit is the third from the end. An overflow stays in the flags.
__device__ void merge_sums(const gr_state_params &p, uint64_t offset, unsigned each, unsigned words) {
    write_sums(p, offset, each, words, [&](uint64_t i, unsigned k) {
        const uint64_t a = field<uint64_t>(p.target, offset, i), b = field<uint64_t>(p.source, offset, i);
        if (k + 1 != words)
            return int64_t(a + b);
        const bool beyond = is_beyond(field<int64_t>(p.target, offset, i - 2)) ||
                            is_beyond(field<int64_t>(p.source, offset, i - 2));
        return int64_t(a | b | (beyond ? GR_EXACT_OVERFLOW : 0));
    });
}

// Counts of up to 2^63 - 1. A sum beyond that is the least int64 from then on.
__device__ int64_t add_counts(int64_t a, int64_t b) {
    const int64_t sum = int64_t(uint64_t(a) + uint64_t(b));
    return (a | b | sum) < 0 ? INT64_MIN : sum;
}

__device__ bool has_none(const gr_state_begin_params &p, uint64_t result) {
    return !(p.flags & GR_STATE_EQUAL_COUNTS) && p.states.has & GR_STATE_HAS_COUNT &&
           field<uint64_t>(p.states.target, p.states.count, result) == 0;
}

// Digit k of sums of integers.
__device__ int64_t digit_of(const gr_state_begin_params &p, uint64_t i, unsigned k) {
    const uint64_t low = field<uint64_t>(p.low, 0, i), high = p.high != 0 ? field<uint64_t>(p.high, 0, i) : 0;
    const int64_t low_rest = p.flags & GR_STATE_LOW_SIGNED ? int64_t(low) >> 32 : int64_t(low >> 32);
    const int64_t high_rest = p.flags & GR_STATE_HIGH_SIGNED ? int64_t(high) >> 32 : int64_t(high >> 32);
    return k == 0   ? int64_t(low & 0xffffffff)
           : k == 1 ? low_rest + int64_t(high & 0xffffffff)
           : k == 2 ? high_rest
                    : 0;
}

__device__ void begin_sums(const gr_state_begin_params &p) {
    const gr_state_params &s = p.states;
    write_sums(s, s.sum, s.sum_result_words, s.sum_words, [&](uint64_t i, unsigned k) {
        if (p.flags & GR_STATE_INTEGER_SUMS)
            return has_none(p, i / s.sum_result_words) ? 0 : digit_of(p, i / s.sum_result_words, k);
        return has_none(p, i / s.sum_result_words) ? 0 : field<int64_t>(s.target, s.sum, i);
    });
}

__device__ void begin_squares(const gr_state_begin_params &p) {
    const gr_state_params &s = p.states;
    write_sums(s, s.squares, s.square_words, s.square_words, [&](uint64_t i, unsigned k) {
        const bool is_flags = k + 1 == s.square_words;
        uint64_t word = field<uint64_t>(s.target, s.squares, i);
        if (p.flags & GR_STATE_SECOND_SQUARES) {
            const uint64_t more = field<uint64_t>(p.second_squares, 0, i);
            word = is_flags ? word | more : word + more;
        }
        return int64_t(has_none(p, i / s.square_words) ? 0 : word);
    });
}

// ---- values ----

// Whether theirs is in the place of mine; both have elements.
template <bool Largest, class T>
__device__ bool is_before(const gr_state_params &p, uint64_t i, T mine, T theirs) {
    if (wins<Largest>(theirs, mine))
        return true;
    return p.has & GR_STATE_HAS_INDEX && !wins<Largest>(mine, theirs) &&
           field<int64_t>(p.source, p.index, i) < field<int64_t>(p.target, p.index, i);
}

template <class In> __device__ void merge_extremes(const gr_state_params &p, uint64_t i) {
    const In other = field<In>(p.source, p.value, i);
    const uint64_t count = field<uint64_t>(p.target, p.count, i);
    const Wide<In> mine = widen(field<In>(p.target, p.value, i)), theirs = widen(other);
    const bool largest = p.merge_op == GR_STATE_MAX || p.merge_op == GR_STATE_ARGMAX;
    if (field<uint64_t>(p.source, p.count, i) == 0 ||
        (count > 0 &&
         !(largest ? is_before<true>(p, i, mine, theirs) : is_before<false>(p, i, mine, theirs))))
        return;
    field<In>(p.target, p.value, i) = other;
    if (p.has & GR_STATE_HAS_INDEX)
        field<int64_t>(p.target, p.index, i) = field<int64_t>(p.source, p.index, i);
}

template <class In> __device__ void merge_values(const gr_state_params &p, uint64_t i) {
    if (p.merge_op <= GR_STATE_COUNTED)
        return merge_extremes<In>(p, i);
    In &place = field<In>(p.target, p.value, i);
    const Wide<In> a = widen(place), b = widen(field<In>(p.source, p.value, i));
    if (p.merge_op == GR_STATE_PROD) {
        place = Narrow<In>::from(times(a, b));
        return;
    }
    if constexpr (std::is_integral<Wide<In>>::value) {
        place = Narrow<In>::from(p.merge_op == GR_STATE_ADD   ? Wide<In>(add_counts(int64_t(a), int64_t(b)))
                                 : p.merge_op == GR_STATE_AND ? a & b
                                 : p.merge_op == GR_STATE_OR  ? a | b
                                                              : a ^ b);
    }
}

__device__ void merge_value(const gr_state_params &p, uint64_t i) {
    switch (p.dtype) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    case DTYPE_##name:                                                                                       \
        return merge_values<In>(p, i);
#include "base/dtypes.def"
#undef GR_DTYPE
    }
}

// Where in the whole a position is.
__device__ int64_t position_of(const gr_state_begin_params &p, int64_t position) {
    int64_t whole = p.start;
    uint64_t rest = position < 0 ? 0 : uint64_t(position);
    for (unsigned d = p.ndim; d-- > 0; rest /= p.extent[d])
        whole += int64_t(rest % p.extent[d]) * p.stride[d];
    return whole;
}

__device__ void begin_value(const gr_state_begin_params &p, uint64_t i) {
    const gr_state_params &s = p.states;
    const bool is_none = has_none(p, i);
    if (p.flags & GR_STATE_EQUAL_COUNTS && s.has & GR_STATE_HAS_COUNT)
        field<uint64_t>(s.target, s.count, i) = p.elements;
    if (s.has & GR_STATE_HAS_INDEX) {
        int64_t &index = field<int64_t>(s.target, s.index, i);
        index = is_none ? 0 : position_of(p, index);
    }
    if (s.has & GR_STATE_HAS_VALUE && is_none)
        for (unsigned k = 0; k < s.item_bytes; ++k)
            field<uint8_t>(s.target, s.value, i * s.item_bytes + k) = 0;
}

// ---- the kernels ----

// Calls work(i) for results.
template <class Work> __device__ void each_result(const gr_state_params &p, Work work) {
    const uint64_t step = uint64_t(gridDim.x) * GR_STATE_THREADS;
    for (uint64_t i = uint64_t(blockIdx.x) * GR_STATE_THREADS + threadIdx.x; i < p.results; i += step)
        work(i);
}

extern "C" __global__ void __launch_bounds__(GR_STATE_THREADS) state_begin(const gr_state_begin_params p) {
    if (blockIdx.y == 0)
        each_result(p.states, [&](uint64_t i) { begin_value(p, i); });
    else if (blockIdx.y == 1 && p.states.has & GR_STATE_HAS_SUM)
        begin_sums(p);
    else if (p.states.has & GR_STATE_HAS_SQUARES)
        begin_squares(p);
}

extern "C" __global__ void __launch_bounds__(GR_STATE_THREADS) state_merge(const gr_state_params p) {
    if (blockIdx.y == 0) {
        each_result(p, [&](uint64_t i) {
            if (p.has & GR_STATE_HAS_VALUE)
                merge_value(p, i);
            if (p.has & GR_STATE_HAS_COUNT) {
                int64_t &count = field<int64_t>(p.target, p.count, i);
                count = add_counts(count, field<int64_t>(p.source, p.count, i));
            }
        });
    } else if (blockIdx.y == 1 && p.has & GR_STATE_HAS_SUM) {
        merge_sums(p, p.sum, p.sum_result_words, p.sum_words);
    } else if (p.has & GR_STATE_HAS_SQUARES) {
        merge_sums(p, p.squares, p.square_words, p.square_words);
    }
}
