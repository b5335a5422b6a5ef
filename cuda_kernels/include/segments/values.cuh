// Conversion of elements in memory to the values that segments are reduced on, and of values to results. The
// dtype is chosen at run time.
#pragma once

#include "segments/ops.cuh"
#include "segments/params.h"

namespace gr::segments {

// Params has to, flags, out and nothing.
template <class F, class Params> struct SegmentResults {
    using Held = typename F::Held;
    using Sum = typename F::State;

    const Params &p;

    template <class Out> __device__ void put_as(uint64_t index, Sum sum, int64_t count, int64_t place) const {
        Out *out = reinterpret_cast<Out *>(p.out) + index;
        if constexpr (F::places) {
            if constexpr (std::is_same<Out, int64_t>::value)
                *out = place;
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
    // Writes the result of a segment of `count` elements; `place` is what those who look for places found.
    __device__ void put(uint64_t index, Sum sum, int64_t count, int64_t place) const {
        if (count <= 0) {
            unsigned char *out = reinterpret_cast<unsigned char *>(p.out) + index * p.result_bytes;
            for (unsigned i = 0; i < p.result_bytes; ++i)
                out[i] = p.empty_result[i];
            return;
        }
        switch (p.to) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sums, mean, scope, bytes)                                  \
    case SEGMENT_##name:                                                                                     \
        if constexpr (gives<F, In>)                                                                          \
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
            return is_true(widen(x));
        else if constexpr (F::turned && std::is_same<In, uint64_t>::value)
            return int64_t(x ^ highest_bit);
        else
            return truth_or(Value<Held>::of(x));
    }
};

} // namespace gr::segments
