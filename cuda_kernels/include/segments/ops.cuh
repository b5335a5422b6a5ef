// The operators of segmented reductions, on values that hold elements of many dtypes (double, int64_t or
// pairs of double), so that a kernel is compiled for one operator and one type of value.
#pragma once

#include "ops/ordering.cuh"
#include "segments/params.h"

namespace gr::segments {

using namespace ops;

enum SegmentDtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) SEGMENT_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
};

template <class T> constexpr bool is_pair = false;
template <> constexpr bool is_pair<gr_c64> = true;
template <> constexpr bool is_pair<gr_c128> = true;
template <class T> constexpr bool is_real = false;
template <> constexpr bool is_real<float> = true;
template <> constexpr bool is_real<double> = true;
template <> constexpr bool is_real<gr_f16> = true;
template <> constexpr bool is_real<gr_bf16> = true;
template <class T> constexpr bool is_whole = !is_pair<T> && !is_real<T>;

// The order of uint64_t is that of int64_t with the highest bit turned over.
constexpr uint64_t highest_bit = 1ull << 63;

template <class V> struct Value {
    template <class In> static __device__ V of(In x) {
        return Convert<V, Wide<In>>::to(widen(x));
    }
    template <class Out> static __device__ Out to(V x) {
        return Narrow<Out>::from(x);
    }
};
template <> struct Value<double> {
    template <class In> static __device__ double of(In x) {
        return double(widen(x));
    }
    template <class Out> static __device__ Out to(double x) {
        if constexpr (std::is_same<Out, gr_f16>::value)
            return __double2half(x);
        else if constexpr (std::is_same<Out, gr_bf16>::value)
            return __double2bfloat16(x);
        else
            return Narrow<Out>::from(x);
    }
};

// State of a value at a row, and where it was; `turned` where the order of uint64_t counts.
template <class V> struct OfValues {
    using Held = V;
    using State = V;
    static constexpr bool truth = false, turned = false, places = false, means = false;
    static __device__ State load(V x, int64_t) {
        return x;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};
template <class V> struct SegmentSum : OfValues<V> {
    static constexpr bool truth = std::is_same<V, int64_t>::value; // sums of 1 for each true element, too
    static __device__ V identity() {
        return Neutral<V>::make();
    }
    static __device__ V nothing() {
        return V();
    }
    static __device__ V combine(V a, V b) {
        return plus(a, b);
    }
};
// Sums of integers that do not wrap, of which the means are.
using Whole = __int128;
template <class V> struct SegmentWholeMean : OfValues<V> {
    using State = Whole;
    static constexpr bool turned = true;
    static __device__ State load(V x, int64_t) {
        return x;
    }
    static __device__ State combine(State a, State b) {
        return a + b;
    }
    static __device__ int64_t place(State) {
        return 0;
    }
};
template <class V> struct SegmentProd : OfValues<V> {
    static __device__ V identity() { // of pairs only nearly: infinity times 0
        return One<V>::make();
    }
    static __device__ V nothing() {
        return One<V>::make();
    }
    static __device__ V combine(V a, V b) {
        return times(a, b);
    }
};
template <class V, bool Largest> struct SegmentExtreme : OfValues<V> {
    static constexpr bool turned = true;
    static __device__ V identity() {
        return worst<Largest>(V());
    }
    static __device__ V nothing() {
        return identity();
    }
    static __device__ V combine(V a, V b) {
        return wins<Largest>(b, a) ? b : a;
    }
};
template <class V> using SegmentMin = SegmentExtreme<V, false>;
template <class V> using SegmentMax = SegmentExtreme<V, true>;

template <class V, bool Largest> struct SegmentPlace {
    using Held = V;
    using State = ArgValue<V>;
    static constexpr bool truth = false, turned = true, places = true, means = false;
    static __device__ State load(V x, int64_t row) {
        return {x, row};
    }
    static __device__ State combine(State a, State b) { // the first of equals
        return wins<Largest>(b.value, a.value) ||
                       (b.position < a.position && !wins<Largest>(a.value, b.value))
                   ? b
                   : a;
    }
    static __device__ int64_t place(State s) {
        return s.position;
    }
    static __device__ State identity() { // behind all elements
        return {worst<Largest>(V()), INT64_MAX};
    }
};
template <class V> using SegmentArgMin = SegmentPlace<V, false>;
template <class V> using SegmentArgMax = SegmentPlace<V, true>;

template <class V> struct SegmentAnd : OfValues<V> {
    static __device__ V identity() {
        return ~V(0);
    }
    static __device__ V combine(V a, V b) {
        return a & b;
    }
};
template <class V> struct SegmentOr : OfValues<V> {
    static __device__ V identity() {
        return V(0);
    }
    static __device__ V combine(V a, V b) {
        return a | b;
    }
};
template <class V> struct SegmentXor : OfValues<V> {
    static __device__ V identity() {
        return V(0);
    }
    static __device__ V combine(V a, V b) {
        return a ^ b;
    }
};

// Elements of which dtypes a kernel takes, and which results it gives.
template <class V, class T>
constexpr bool is_of = std::is_same<V, double>::value    ? is_real<T>
                       : std::is_same<V, int64_t>::value ? is_whole<T>
                                                         : is_pair<T>;
template <class F, class In>
constexpr bool takes = is_of<typename F::Held, In> || F::truth || (F::means && is_whole<In>);
template <class F> constexpr bool is_whole_mean = std::is_same<typename F::State, Whole>::value;
template <class F, class Out>
constexpr bool gives = F::places          ? std::is_same<Out, int64_t>::value
                       : is_whole_mean<F> ? std::is_same<Out, double>::value
                                          : is_of<typename F::Held, Out>;
// Rows and ends per thread of a tile.
template <class F>
constexpr unsigned most_per_thread = (sizeof(typename F::Held) < 16    ? GR_SEGMENT_ITEMS_PER_THREAD
                                      : sizeof(typename F::State) < 32 ? GR_SEGMENT_ITEMS_PER_THREAD / 2
                                                                       : GR_SEGMENT_ITEMS_PER_THREAD / 4);
inline __device__ double nan_of(double) {
    return NAN;
}
inline __device__ ComplexParts<double> nan_of(ComplexParts<double>) {
    return {NAN, NAN};
}
// Whether NaNs may be skipped, in whose place the operator has nothing().
template <class F, class = void> constexpr bool can_skip = false;
template <class F>
constexpr bool can_skip<F, decltype(void(&F::nothing))> = !std::is_same<typename F::Held, int64_t>::value;
// Whether elements side by side, of one column, are for streams, which need an identity.
template <class F, class = void> constexpr bool has_identity = false;
template <class F> constexpr bool has_identity<F, decltype(void(&F::identity))> = true;
template <class F, class In>
constexpr bool streamed = has_identity<F> && !is_pair<In> && !(F::means && is_whole<In>);

} // namespace gr::segments
