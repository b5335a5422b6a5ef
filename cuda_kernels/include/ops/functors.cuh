// The operators of ops.def as functors: for each row a template over the element type, with
//   State                   a partial result, which threads and blocks pass on
//   identity()              the State of no elements
//   load(x, position)       the State of one element; `position` counts along the reduction
//   combine(a, b)           associative and commutative, so that any tree is right
//   Out, finish(s, count)   the result, and its value for a State of `count` elements; may take flags, too
//   start(Out)              the State of an `initial` value, if there may be one
//   padding()               an element that a sum or product takes in without any effect; some functors have
//   it
#pragma once

#include <type_traits>

#include "common/element_types.cuh"
#include "ops/wide_integers.cuh"

namespace gr::ops {

using namespace common;

// A float sum and what its additions lost. `sum` takes the steps of a plain sum, so that infinities, NaNs and
// overflow come out as they do there. The lost part is Knuth's two-sum, exact for round to nearest.
struct Compensated {
    float sum, lost;
};

template <class T> struct ComplexParts { T re, im; };

// Conversions of an element to the type that computes.
template <class T> __device__ auto widen(T x) {
    if constexpr (std::is_floating_point<T>::value)
        return x;
    else if constexpr (std::is_signed<T>::value)
        return int64_t(x);
    else
        return uint64_t(x);
}
inline __device__ int64_t widen(gr_bool x) {
    return x.value != 0;
}
inline __device__ float widen(gr_f16 x) {
    return __half2float(x);
}
inline __device__ float widen(gr_bf16 x) {
    return __bfloat162float(x);
}
inline __device__ ComplexParts<float> widen(gr_c64 x) {
    return {x.re, x.im};
}
inline __device__ ComplexParts<double> widen(gr_c128 x) {
    return {x.re, x.im};
}

template <class In> using Wide = decltype(widen(In()));

// What a plain sum of In is kept in: Compensated instead of float where the elements are float themselves.
template <class In> struct SumState { using type = Wide<In>; };
template <> struct SumState<float> { using type = Compensated; };
template <> struct SumState<gr_c64> { using type = ComplexParts<Compensated>; };

// Sums of everything that is a State. Signed overflow wraps, as in NumPy.
template <class T, class U> __device__ T plus(T a, U b) {
    return a + T(b);
}
inline __device__ int64_t plus(int64_t a, int64_t b) {
    return int64_t(uint64_t(a) + uint64_t(b));
}
inline __device__ Compensated plus(Compensated a, Compensated b) {
    const float sum = a.sum + b.sum, b_part = sum - a.sum, a_part = sum - b_part;
    return {sum, (a.lost + b.lost) + ((a.sum - a_part) + (b.sum - b_part))};
}
template <class T, class U> __device__ ComplexParts<T> plus(ComplexParts<T> a, ComplexParts<U> b) {
    return {plus(a.re, b.re), plus(a.im, b.im)};
}

template <class T> __device__ T times(T a, T b) {
    return a * b;
}
inline __device__ int64_t times(int64_t a, int64_t b) {
    return int64_t(uint64_t(a) * uint64_t(b));
}
template <class T> __device__ ComplexParts<T> times(ComplexParts<T> a, ComplexParts<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// From an element widened to the State of a sum.
template <class State, class T> struct Convert {
    static __device__ State to(T x) {
        return State(x);
    }
};
template <> struct Convert<Compensated, float> {
    static __device__ Compensated to(float x) {
        return {x, 0.0f};
    }
};
template <> struct Convert<ComplexParts<Compensated>, ComplexParts<float>> {
    static __device__ ComplexParts<Compensated> to(ComplexParts<float> x) {
        return {{x.re, 0.0f}, {x.im, 0.0f}};
    }
};
template <> struct Convert<Int128, int64_t> {
    static __device__ Int128 to(int64_t x) {
        return {uint64_t(x), uint64_t(x >> 63)};
    }
};
template <> struct Convert<Int128, uint64_t> {
    static __device__ Int128 to(uint64_t x) {
        return {x, 0};
    }
};
template <class S, class T> struct Convert<ComplexParts<S>, ComplexParts<T>> {
    static __device__ ComplexParts<S> to(ComplexParts<T> x) {
        return {x.re, x.im};
    }
};

// A lost part is meaningless once the sum is infinite or NaN, and one of 0 would make 0 of -0.
inline __device__ float normalize(Compensated x) {
    const float whole = x.sum + x.lost;
    return isfinite(x.sum) && x.lost != 0 ? whole : x.sum;
}
inline __device__ ComplexParts<float> normalize(ComplexParts<Compensated> x) {
    return {normalize(x.re), normalize(x.im)};
}
template <class T> __device__ T normalize(T x) {
    return x;
}

// From plain numbers to the elements of the output.
template <class Out> struct Narrow {
    template <class T> static __device__ Out from(T x) {
        return Out(x);
    }
};
template <> struct Narrow<gr_f16> {
    static __device__ gr_f16 from(float x) {
        return __float2half_rn(x);
    }
};
template <> struct Narrow<gr_bf16> {
    static __device__ gr_bf16 from(float x) {
        return __float2bfloat16_rn(x);
    }
};
template <> struct Narrow<gr_bool> {
    template <class T> static __device__ gr_bool from(T x) {
        return {uint8_t(x != 0)};
    }
};
template <> struct Narrow<gr_c64> {
    template <class T> static __device__ gr_c64 from(ComplexParts<T> x) {
        return {float(x.re), float(x.im)};
    }
};
template <> struct Narrow<gr_c128> {
    static __device__ gr_c128 from(ComplexParts<double> x) {
        return {x.re, x.im};
    }
};

// The dtype of a sum: integers grow to 64 bits, everything else stays.
template <class In, class W = Wide<In>> struct SumOut { using type = In; };
template <class In> struct SumOut<In, int64_t> { using type = int64_t; };
template <class In> struct SumOut<In, uint64_t> { using type = uint64_t; };

// The dtype of a part of a complex number.
template <class In> struct RealOf { using type = In; };
template <> struct RealOf<gr_c64> { using type = float; };
template <> struct RealOf<gr_c128> { using type = double; };

template <class T> struct Zero {
    static __device__ T make() {
        return T(0);
    }
};
template <> struct Zero<Compensated> {
    static __device__ Compensated make() {
        return {0.0f, 0.0f};
    }
};
template <> struct Zero<Int128> {
    static __device__ Int128 make() {
        return {0, 0};
    }
};
template <class T> struct Zero<ComplexParts<T>> {
    static __device__ ComplexParts<T> make() {
        return {Zero<T>::make(), Zero<T>::make()};
    }
};
// What sums start from inside kernels: x and -0 make x, whatever its sign. The 0 that NumPy starts from is
// the `initial` that the planner gives.
template <class T> struct Neutral {
    static __device__ T make() {
        return T(-0.0);
    }
};
template <> struct Neutral<Int128> : Zero<Int128> {};
template <> struct Neutral<Compensated> {
    static __device__ Compensated make() {
        return {-0.0f, 0.0f};
    }
};
template <class T> struct Neutral<ComplexParts<T>> {
    static __device__ ComplexParts<T> make() {
        return {Neutral<T>::make(), Neutral<T>::make()};
    }
};
template <class T> struct One {
    static __device__ T make() {
        return T(1);
    }
};
template <class T> struct One<ComplexParts<T>> {
    static __device__ ComplexParts<T> make() {
        return {T(1), T(0)};
    }
};

// What functors have in common whose States are sums.
template <class S> struct Additive {
    using State = S;
    static constexpr bool neutral = true; // identity and x combine to x, exactly
    static __device__ State identity() {
        return Neutral<State>::make();
    }
    static __device__ State combine(State a, State b) {
        return plus(a, b);
    }
};
// What functors have in common whose State is an element as it is computed in.
template <class In, class Result = In> struct Elementwise {
    using State = Wide<In>;
    using Out = Result;
    static __device__ State load(In x, uint64_t) {
        return widen(x);
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(s);
    }
    static __device__ State start(Out x) {
        return widen(x);
    }
};

template <class In> struct Sum : Additive<typename SumState<In>::type> {
    using State = typename SumState<In>::type;
    using Out = typename SumOut<In>::type;
    static __device__ In padding() {
        return Narrow<In>::from(Neutral<Wide<In>>::make());
    }
    static __device__ State load(In x, uint64_t) {
        return Convert<State, Wide<In>>::to(widen(x));
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(normalize(s));
    }
    static __device__ State start(Out x) {
        return Convert<State, Wide<Out>>::to(widen(x));
    }
};

template <class In> struct Prod : Elementwise<In, typename SumOut<In>::type> {
    using State = Wide<In>;
    static __device__ In padding() {
        return Narrow<In>::from(One<Wide<In>>::make());
    }
    static __device__ State identity() {
        return One<State>::make();
    }
    static __device__ State combine(State a, State b) {
        return times(a, b);
    }
};

// The mean of integers is a double; the mean of floats keeps their type, but their sum may be beyond it.
template <class T> struct MeanState { using type = T; };
template <> struct MeanState<Compensated> { using type = double; };
template <> struct MeanState<ComplexParts<Compensated>> { using type = ComplexParts<double>; };
template <> struct MeanState<int64_t> { using type = double; };
template <> struct MeanState<uint64_t> { using type = double; };

template <class T> __device__ auto divide(T x, uint64_t count) {
    using Quotient = typename MeanState<T>::type;
    return Quotient(x) / Quotient(count);
}
template <class T> __device__ ComplexParts<T> divide(ComplexParts<T> x, uint64_t count) {
    return {x.re / T(count), x.im / T(count)};
}

inline __device__ bool is_exact_double(int64_t x) {
    return (uint64_t(x) + (1ull << 53)) >> 54 == 0;
}
inline __device__ double divide(Int128 sum, uint64_t count) {
    const int64_t low = int64_t(sum.low);
    if (int64_t(sum.high) == low >> 63 && is_exact_double(low))
        return double(low) / double(count);
    const double quotient = quotient_of(magnitude_of(sum), count);
    return int64_t(sum.high) < 0 ? -quotient : quotient;
}

// The sum that a mean is made of. Sums of integers are exact, and so do not depend on the order: in 64 bits
// of up to 2^47 elements of 8 or 16 bits, in 128 bits of up to 2^63 elements of 32 or 64 bits.
template <class In, class W = Wide<In>> struct MeanSum {
    using type = typename MeanState<typename SumState<In>::type>::type;
    static __device__ auto divide(type s, uint64_t count) {
        return ops::divide(s, count);
    }
};
template <class In> struct ExactMeanSum {
    using type = typename std::conditional<(sizeof(In) <= 2), int64_t, Int128>::type;
    static __device__ double divide(type s, uint64_t count) {
        if constexpr (sizeof(In) <= 2)
            return ops::divide(Convert<Int128, type>::to(s), count);
        else
            return ops::divide(s, count);
    }
    // The result of a single element.
    static __device__ double of_one(In x, uint64_t, uint32_t) {
        return double(widen(x));
    }
};
template <class In> struct MeanSum<In, int64_t> : ExactMeanSum<In> {};
template <class In> struct MeanSum<In, uint64_t> : ExactMeanSum<In> {};

// What a thread adds up of integers of four or eight bytes: fewer than 2^32 elements, without carries from
// word to word.
template <class In, bool Long = sizeof(In) == 8> struct ThreadSum {
    Wide<In> sum;
    static __device__ ThreadSum none() {
        return {0};
    }
    __device__ void add(Wide<In> x) {
        sum += x;
    }
    __device__ void add(ThreadSum x) {
        sum += x.sum;
    }
    __device__ Int128 state() const {
        return Convert<Int128, Wide<In>>::to(sum);
    }
};
template <class In> struct ThreadSum<In, true> {
    uint64_t low; // of the lower halves
    Wide<In> high;
    static __device__ ThreadSum none() {
        return {0, 0};
    }
    __device__ void add(Wide<In> x) {
        low += uint32_t(x);
        high += x >> 32;
    }
    __device__ void add(ThreadSum x) {
        low += x.low;
        high += x.high;
    }
    __device__ Int128 state() const {
        return plus(Int128{low, 0}, Int128{uint64_t(high) << 32, uint64_t(high >> 32)});
    }
};

template <class In> struct Mean : Additive<typename MeanSum<In>::type>, MeanSum<In> {
    using State = typename MeanSum<In>::type;
    using Out = typename MeanState<typename SumOut<In>::type>::type;
    static __device__ In padding() {
        return Narrow<In>::from(Neutral<Wide<In>>::make());
    }
    static __device__ State load(In x, uint64_t) {
        return Convert<State, Wide<In>>::to(widen(x));
    }
    static __device__ Out finish(State s, uint64_t count) {
        return Narrow<Out>::from(MeanSum<In>::divide(normalize(s), count));
    }
    static __device__ State start(Out) {
        return Zero<State>::make(); // NumPy's mean has no initial value but 0
    }
};

// The mean under a mask, which has to count.
template <class In> struct MaskedMean {
    using Of = Mean<In>;
    using Out = typename Of::Out;
    struct State {
        uint64_t count;
        typename Of::State sum;
    };
    static __device__ State identity() {
        return {0, Of::identity()};
    }
    static __device__ State load(In x, uint64_t position) {
        return {1, Of::load(x, position)};
    }
    static __device__ State combine(State a, State b) {
        return {a.count + b.count, Of::combine(a.sum, b.sum)};
    }
    static __device__ Out finish(State s, uint64_t) {
        return Of::finish(s.sum, s.count);
    }
    static __device__ State start(Out x) {
        return {0, Of::start(x)};
    }
};

// A product, as the State of a sum of products; a float one comes with what its rounding lost.
template <class State, class T> struct Product {
    static __device__ State of(T x, T y) {
        return State(times(x, y));
    }
};
template <> struct Product<Compensated, float> {
    static __device__ Compensated of(float x, float y) {
        const float rounded = x * y;
        return {rounded, __fmaf_rn(x, y, -rounded)};
    }
};
template <class T> struct Product<ComplexParts<T>, ComplexParts<T>> {
    static __device__ ComplexParts<T> of(ComplexParts<T> x, ComplexParts<T> y) {
        return times(x, y);
    }
};
template <> struct Product<ComplexParts<Compensated>, ComplexParts<float>> {
    static __device__ ComplexParts<Compensated> of(ComplexParts<float> x, ComplexParts<float> y) {
        using P = Product<Compensated, float>;
        return {plus(P::of(x.re, y.re), P::of(-x.im, y.im)), plus(P::of(x.re, y.im), P::of(x.im, y.re))};
    }
};

// numpy.dot keeps the dtype of the vectors: integers wrap in it, and bools are or'ed.
template <class In> struct Dot : Additive<typename SumState<In>::type> {
    using State = typename SumState<In>::type;
    using Out = In;
    static __device__ State load(In x, In y) {
        return Product<State, Wide<In>>::of(widen(x), widen(y));
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(normalize(s));
    }
    static __device__ State start(Out) {
        return Zero<State>::make();
    }
};

} // namespace gr::ops
