// Operators of segmented reductions whose results depend on the order: products, and squares about the mean,
// of which variances are.
#pragma once

#include "segments/ordered/params.h"
#include "segments/values.cuh"

namespace gr::segments {

// Squares may exceed a double, and are then those of elements that are scaled by this factor.
constexpr double SHRINK = 0x1p-538, LARGEST = 0x1p960;

// Of elements: how many, and sums about a point among them, which is never rounded; as in
// reduce/ops/variance.cuh, but that NaNs and infinities make all NaN.
struct Spread {
    double count; // negative where the others are scaled
    double point, sum, squares;

    // The squares about the mean, negative where they are scaled.
    __device__ operator double() const {
        const double rest = squares - sum * (sum / fabs(count));
        return copysign(rest < 0 ? 0.0 : rest, count);
    }
};
constexpr int64_t skipped_bits = 0x7ff8000000000000 + lost_payload; // of a NaN that no element has

// Writes the result of a segment, which `has` elements.
template <class V>
__device__ void put_ordered(const gr_ordered_params &p, uint64_t index, const V &x, bool has) {
    if (!has) {
        unsigned char *out = reinterpret_cast<unsigned char *>(p.out) + index * p.result_bytes;
        for (unsigned i = 0; i < p.result_bytes; ++i)
            out[i] = p.empty_result[i];
        return;
    }
    switch (p.to) {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sums, mean, scope, bytes)                                  \
    case SEGMENT_##name:                                                                                     \
        if constexpr (is_of<V, In>)                                                                          \
            reinterpret_cast<In *>(p.out)[index] = Value<V>::template to<In>(x);                             \
        break;
#include "base/dtypes.def"
#undef GR_DTYPE
    }
}

struct OrderedVar {
    using Held = double;
    using State = Spread;
    static constexpr bool truth = false, turned = false, places = false, means = true;
    static __device__ State load(double x, int64_t) {
        return __double_as_longlong(x) == skipped_bits ? State{0, 0, 0, 0} : State{1, x, x - x, x - x};
    }
    static __device__ double nothing() {
        return __longlong_as_double(skipped_bits);
    }
    // Of counts that are not negative.
    static __device__ State combine_plain(const State &a, const State &b) {
        const double apart = b.point - a.point;
        const double from_a = fma(b.count, apart, b.sum), from_b = fma(a.count, -apart, a.sum);
        const double sum_a = a.sum + from_a, sum_b = b.sum + from_b; // about either point
        const bool nearer = fabs(sum_b) < fabs(sum_a);
        const double more = nearer ? -apart * (a.sum + from_b) : apart * (b.sum + from_a);
        return {a.count + b.count, nearer ? b.point : a.point, nearer ? sum_b : sum_a,
                (a.squares + b.squares) + more};
    }
    static __device__ State scaled(const State &s) {
        const double factor = s.count < 0 ? 1.0 : SHRINK;
        return {fabs(s.count), s.point * factor, s.sum * factor, s.squares * factor * factor};
    }
    // The same as combine, if is_near(): squares that are near do not reach beyond LARGEST before.
    static __device__ State combine_near(const State &a, const State &b) {
        const State both = combine_plain(a, b);
        return a.count == 0 ? b : b.count == 0 ? a : both;
    }
    static __device__ bool is_near(const State &s) {
        return s.count >= 0 && fabs(s.squares) < LARGEST;
    }
    // Combines a State, unless there is none, with elements one after the other. A function, as few are far.
    template <unsigned most>
    static __device__ State combine_all(const State &state, const double (&x)[most], bool none,
                                        unsigned count) {
        double copy[most];
#pragma unroll
        for (unsigned k = 0; k < most; ++k)
            copy[k] = x[k];
        return combine_far(state, copy, none, count);
    }
    static __device__ __noinline__ State combine_far(State state, const double *x, bool none,
                                                     unsigned count) {
#pragma unroll 1
        for (unsigned k = 0; k < count; ++k)
            state = k == 0 && none ? load(x[k], 0) : combine(state, load(x[k], 0));
        return state;
    }
    static __device__ __noinline__ State combine_scaled(State a, State b) {
        State both = combine_plain(scaled(a), scaled(b));
        both.count = -both.count;
        return both;
    }
    static __device__ State combine(const State &a, const State &b) {
        if (a.count == 0 || b.count == 0)
            return a.count == 0 ? b : a;
        const State both = combine_plain(a, b);
        if (a.count < 0 || b.count < 0 || !(fabs(both.squares) < LARGEST))
            return combine_scaled(a, b);
        return both;
    }
    // Writes the variance of a segment of `count` elements, NaNs included.
    static __device__ void put(const gr_ordered_params &p, uint64_t index, const State &state,
                               int64_t count) {
        double counted = double(count), x = 0;
        if (count > 0) {
            const double squares = state;
            counted = p.flags & GR_SEGMENT_SKIP_NAN ? fabs(state.count) : counted;
            const double factor = squares < 0 ? 1 / SHRINK : 1.0;
            x = fabs(squares) / max(counted - p.ddof, 0.0) * factor * factor;
            x = p.root ? sqrt(x) : x;
            if (p.nan_of_few && !(counted > p.ddof))
                x = NAN;
        }
        put_ordered(p, index, x, counted > 0);
    }
};

// Of operators whose States are always near.
template <class State> struct WithoutFar {
    static __device__ bool is_near(const State &) {
        return true;
    }
    template <class Held, unsigned most>
    static __device__ State combine_all(const State &state, const Held (&)[most], bool, unsigned) {
        return state;
    }
};

template <class V> struct OrderedProd : SegmentProd<V>, WithoutFar<V> {
    static __device__ V combine_near(const V &a, const V &b) {
        return SegmentProd<V>::combine(a, b);
    }
    static __device__ void put(const gr_ordered_params &p, uint64_t index, const V &x, int64_t count) {
        put_ordered(p, index, x, count > 0);
    }
};

} // namespace gr::segments
