// Conversion of elements in memory to the values that segments are reduced on, and of values to results. The
// dtype is chosen at run time.
#pragma once

#include "exact/params.h"
#include "segments/exact_sums.cuh"
#include "segments/params.h"

namespace gr::segments {

// The bits of the mean of `count` integers.
inline __device__ __noinline__ uint64_t round_mean(Whole sum, uint64_t count) {
    constexpr gr_exact_size size = {6, 0}; // four digits
    int64_t state[size.words] = {};
    for (unsigned i = 0; i < 4; ++i)
        state[i] = i < 3 ? int64_t(uint32_t(sum >> 32 * i)) : int64_t(sum >> 32 * i);
    state[size.words - 1] = GR_EXACT_NOT_MINUS_ZERO;
    return gr_exact_result(state, size, count, {53, 11});
}

// Params has from, to, flags, out, lost and empty_result.
template <class F, class Params> struct SegmentResults {
    using Held = typename F::Held;
    using Sum = typename F::State;

    const Params &p;

    template <class Out> __device__ void put_as(uint64_t index, Sum sum, int64_t count, int64_t place) const {
        Out *out = reinterpret_cast<Out *>(p.out) + index;
        if constexpr (F::places) {
            if constexpr (std::is_same<Out, int64_t>::value)
                *out = place;
        } else if constexpr (is_whole_mean<F>) {
            if (p.from == SEGMENT_u64)
                sum += static_cast<Whole>(count) << 63;
            *out = __longlong_as_double(int64_t(round_mean(sum, uint64_t(count))));
        } else if constexpr (std::is_same<Held, int64_t>::value) {
            if constexpr (F::truth && std::is_same<Out, gr_bool>::value) {
                if (p.flags & (GR_SEGMENT_ANY | GR_SEGMENT_ALL))
                    sum = p.flags & GR_SEGMENT_ANY ? sum != 0 : sum == count;
            }
            if constexpr (F::turned && std::is_same<Out, uint64_t>::value)
                *out = uint64_t(sum) ^ highest_bit;
            else
                *out = Value<Held>::template to<Out>(sum);
        } else {
            *out =
                Value<Held>::template to<Out>(p.flags & GR_SEGMENT_MEAN ? divide(sum, uint64_t(count)) : sum);
        }
    }
    // Writes the sum of a segment, or the mean of `count` elements.
    template <class Of> __device__ void put_exact(uint64_t index, const Of &sum, int64_t count) const {
        const uint32_t to = p.to == SEGMENT_c64 ? SEGMENT_f32 : p.to == SEGMENT_c128 ? SEGMENT_f64 : p.to;
        ExactResults{p.out, p.lost, to, (p.flags & GR_SEGMENT_MEAN) != 0}.put(index, sum, count);
    }
    // Writes the result of a segment of `count` elements; `place` is the position of an extreme.
    // The sum is a State, or Near.
    template <class Of> __device__ void put(uint64_t index, Of sum, int64_t count, int64_t place) const {
        if (count <= 0) {
            unsigned char *out = reinterpret_cast<unsigned char *>(p.out) + index * p.result_bytes;
            for (unsigned i = 0; i < p.result_bytes; ++i)
                out[i] = p.empty_result[i];
            return;
        }
        if constexpr (is_exact_sum<F>)
            return put_exact(index, sum, count);
        switch (p.to) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sums, mean, scope, bytes)                                  \
    case SEGMENT_##name:                                                                                     \
        if constexpr (gives<F, In> && !is_exact_sum<F>)                                                      \
            put_as<In>(index, sum, count, place);                                                            \
        break;
#include "base/dtypes.def"
#undef GR_DTYPE
        }
    }
};

// Params has from, too.
template <class F, class Params> struct SegmentValues : SegmentResults<F, Params> {
    using Held = typename F::Held;
    using SegmentResults<F, Params>::p;

    // Calls work(In()) with the dtype of the elements.
    template <class Work> __device__ void of_elements(Work work) const {
        switch (p.from) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    case SEGMENT_##name:                                                                                     \
        if constexpr (takes<F, In>)                                                                          \
            work(In());                                                                                      \
        break;
#include "base/dtypes.def"
#undef GR_DTYPE
        }
    }
    __device__ Held truth_or(Held x) const {
        if constexpr (F::truth)
            return p.flags & GR_SEGMENT_BOOL ? x != 0 : x;
        else
            return x;
    }
    template <class In> __device__ Held value_of(In x) const {
        if constexpr (F::truth && !is_whole<In>)
            return p.flags & GR_SEGMENT_SKIP_NAN ? !is_nan(widen(x)) : is_true(widen(x));
        else if constexpr (can_skip<F>)
            return p.flags & GR_SEGMENT_SKIP_NAN && is_nan(Value<Held>::of(x)) ? F::nothing()
                                                                               : Value<Held>::of(x);
        else if constexpr (F::turned && std::is_same<In, uint64_t>::value)
            return int64_t(x ^ highest_bit);
        else
            return truth_or(Value<Held>::of(x));
    }
};

} // namespace gr::segments
