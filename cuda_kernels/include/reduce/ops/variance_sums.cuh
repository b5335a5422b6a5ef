// Sums of squares about a point, and how two are merged: what variances of all dtypes have in common. See
// variance.cuh.
#pragma once

#include <type_traits>

#include "reduce/params.h"

#include "grid/large_states.cuh"

#include "reduce/accumulate.cuh"
#include "reduce/batch_accumulate.cuh"

namespace gr::reduce {

#define GR_VAR_SHRINK 0x1p-538 // its inverse, twice, makes a variance of a shrunk sum of squares
#define GR_VAR_LARGEST 0x1p960 // so that products of two sums and a number of elements are finite

template <class In> constexpr bool can_overflow = false;
template <> constexpr bool can_overflow<double> = true;
template <> constexpr bool can_overflow<gr_c128> = true;
inline __device__ bool is_medium(double squares) {
    return fabs(squares) < GR_VAR_LARGEST;
}
// A variance, or a sum of squares, of shrunk elements, converted to the elements' own.
inline __device__ double grown(double squares, bool is_shrunk) {
    const double factor = is_shrunk ? 1 / GR_VAR_SHRINK : 1.0;
    return squares * factor * factor;
}

// The variance from the sum of squares about the mean. `ddof`: the bits of a double; `flags`: see
// reduce/params.h.
template <class Out>
__device__ Out variance(double squares, double count, bool has_nan, uint64_t ddof, uint32_t flags,
                        bool is_shrunk = false) {
    const double left = count - __longlong_as_double(int64_t(ddof));
    const bool none = flags & GR_FINISH_SKIP_NAN ? !(left > 0) : has_nan;
    const double quotient =
        none ? __longlong_as_double(0x7ff8000000000000ll) : squares / (left <= 0 ? 0.0 : left);
    const double result = grown(quotient, is_shrunk);
    return Narrow<Out>::from(flags & GR_FINISH_ROOT ? sqrt(result) : result);
}

enum : uint32_t { GR_VAR_HAS_NAN = 1, GR_VAR_SHRUNK = 2 };

// K: of points; T: of sums.
template <class K, class T> struct Shifted {
    double count;
    K shift;
    uint32_t marks; // GR_VAR_HAS_NAN, GR_VAR_SHRUNK
    T sum, squares;
};

template <class K, class T> __device__ Shifted<K, T> shrunk(const Shifted<K, T> &s) {
    const double factor = s.marks & GR_VAR_SHRUNK ? 1.0 : GR_VAR_SHRINK;
    return {s.count, K(s.shift * factor), s.marks | GR_VAR_SHRUNK, T(s.sum * factor),
            T(s.squares * factor * factor)};
}

// Whether the point is so far from the mean that the squares about it are more than 4/3 of those about the
// mean.
template <class T> __device__ bool is_far(T count, T sum, T squares) {
    return sum * sum > T(0.25) * count * squares;
}
// About the mean, rounded to a point.
template <class K, class T> __device__ void recentre(T count, K &shift, T &sum, T &squares) {
    const K mean = K(T(shift) + sum / count);
    const T apart = T(shift) - T(mean), moved = fma(count, apart, sum);
    squares = fma(apart, sum + moved, squares);
    sum = moved;
    shift = mean;
}

template <class K, class T>
__device__ Shifted<K, T> merge_plain(const Shifted<K, T> &a, const Shifted<K, T> &b) {
    const T in_a = T(a.count), in_b = T(b.count), apart = T(b.shift) - T(a.shift);
    const T from_a = fma(in_b, apart, b.sum), from_b = fma(in_a, -apart, a.sum);
    const T sum_a = a.sum + from_a, sum_b = b.sum + from_b; // about either point
    const bool nearer = fabs(sum_b) < fabs(sum_a);
    const T more = nearer ? -apart * (a.sum + from_b) : apart * (b.sum + from_a);
    return {a.count + b.count, nearer ? b.shift : a.shift, a.marks | b.marks, nearer ? sum_b : sum_a,
            (a.squares + b.squares) + more};
}
template <class In, class K, class T>
__device__ Shifted<K, T> merge(const Shifted<K, T> &a, const Shifted<K, T> &b) {
    const Shifted<K, T> both = merge_plain(a, b);
    if constexpr (can_overflow<In>)
        if (both.marks >= GR_VAR_SHRUNK || !is_medium(both.squares))
            return merge_plain(shrunk(a), shrunk(b));
    return both;
}

// About the mean. Only of finite elements is the sum finite.
template <class K, class T> __device__ double centred(const Shifted<K, T> &s) {
    const double sum = s.sum, squares = s.squares;
    const double rest = squares - sum * (sum / s.count);
    if (sizeof(T) == 4 && !isfinite(squares) && isfinite(sum)) // squares of finite elements, beyond a float
        return __longlong_as_double(0x7ff0000000000000ll);
    return rest < 0 ? 0.0 : rest;
}

// The type that an element is computed in, which points have, too, and the type of the sums of its State.
template <class In> struct VarValue {
    using type = double;
    using sum = double;
};
template <> struct VarValue<float> {
    using type = float;
    using sum = double;
};
template <> struct VarValue<gr_f16> {
    using type = float;
    using sum = float;
};
template <> struct VarValue<gr_bf16> : VarValue<gr_f16> {};
template <class In> constexpr bool is_floating = false;
template <> constexpr bool is_floating<float> = true;
template <> constexpr bool is_floating<double> = true;
template <> constexpr bool is_floating<gr_f16> = true;
template <> constexpr bool is_floating<gr_bf16> = true;
template <class In>
using RealOut =
    typename std::conditional<std::is_integral<Wide<In>>::value, double, typename RealOf<In>::type>::type;

// Over the lanes of a warp: all have the same, as it does not matter which of two comes first.
template <class T> __device__ T warp_sum(T x) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

} // namespace gr::reduce
