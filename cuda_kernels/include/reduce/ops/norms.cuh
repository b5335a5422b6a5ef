// Norms of real numbers: the sum of magnitudes, and the root of the sum of squares; and for general_axis any
// norm of any elements, by a sum of powers.
//
// Squares of floats neither overflow nor underflow in double. Sums of the squares of doubles are kept in one
// of three scales, after J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector"
// (1978); but in one scale at a time, which the sum of a few squares selects.
#pragma once

#include "reduce/accumulate.cuh"
#include "reduce/general/axis.cuh"

namespace gr::reduce {

template <class In> struct SumNorm {
    using State = double;
    static constexpr bool neutral = true;
    using Out = In;
    static __device__ In padding() {
        return Narrow<In>::from(Wide<In>(0));
    }
    static __device__ State identity() {
        return 0;
    }
    static __device__ State load(In x, uint64_t) {
        return fabs(double(widen(x)));
    }
    static __device__ State combine(State a, State b) {
        return a + b;
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(s);
    }
};

// The sum of squares of N numbers, those of a chunk's `length` one after the other.
template <unsigned N, unsigned Length, class Terms> __device__ double sum_of_squares(const Terms &term) {
    double s[N / Length];
#pragma unroll
    for (unsigned k = 0; k < N / Length; ++k) {
        s[k] = term(k * Length) * term(k * Length);
#pragma unroll
        for (unsigned e = 1; e < Length; ++e) {
            const double x = term(k * Length + e);
            s[k] = __fma_rn(x, x, s[k]);
        }
    }
#pragma unroll
    for (unsigned k = 1; k < N / Length; ++k)
        s[0] += s[k];
    return s[0];
}

template <class In> struct RootNorm {
    using State = double;
    static constexpr bool neutral = true;
    using Out = In;
    static __device__ In padding() {
        return Narrow<In>::from(Wide<In>(0));
    }
    static __device__ State identity() {
        return 0;
    }
    static __device__ State load(In x, uint64_t) {
        const double value = double(widen(x));
        return value * value;
    }
    static __device__ State combine(State a, State b) {
        return a + b;
    }
    template <unsigned N, unsigned Length, class Terms>
    static __device__ State with(State s, const Terms &term) {
        return s + sum_of_squares<N, Length>(term);
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(sqrt(s));
    }
};

// Powers of two, as the lowest bits of their exponents.
inline __device__ double power_of_two(int exponent) {
    return __hiloint2double((1023 + exponent) << 20, 0);
}
// Sums of squares of a few numbers are medium ones between two powers of two. Where such a sum is larger or
// smaller, all of the numbers are shrunk or grown by a power of two before they are squared: the loss in
// numbers that are much smaller than others does not count.
enum { GR_SMALLEST_MEDIUM = -900, GR_LARGEST_MEDIUM = 970, GR_SCALE = 538 };
enum : int32_t { GR_SMALL, GR_MEDIUM, GR_LARGE };

template <> struct RootNorm<double> {
    struct State { // in words of four bytes: there is none that nothing is in
        uint32_t low, high;
        int32_t scale; // GR_MEDIUM for a sum of 0
        __device__ double sum() const {
            return __hiloint2double(int(high), int(low));
        }
    };
    using Out = double;
    static constexpr bool neutral = true;
    static __device__ State in_scale(double sum, int32_t scale) {
        return {uint32_t(__double2loint(sum)), uint32_t(__double2hiint(sum)), scale};
    }
    static __device__ double padding() {
        return 0;
    }
    static __device__ State identity() {
        return {0, 0, GR_MEDIUM};
    }
    // In one test of the exponent, which no NaN passes.
    static __device__ bool is_medium(double sum) {
        const uint32_t first = (1023 + GR_SMALLEST_MEDIUM) << 20, last = (1023 + GR_LARGEST_MEDIUM) << 20;
        return uint32_t(__double2hiint(sum)) - first < last - first;
    }
    template <unsigned N, unsigned Length, class Terms>
    static __device__ State of(double sum, const Terms &term) {
        if (is_medium(sum) || sum != sum)
            return in_scale(sum, GR_MEDIUM);
        const bool large = sum > 1;
        const double factor = power_of_two(large ? -GR_SCALE : GR_SCALE);
        const double scaled = sum_of_squares<N, Length>([&](unsigned i) { return term(i) * factor; });
        return in_scale(scaled, large ? GR_LARGE : scaled == 0 ? GR_MEDIUM : GR_SMALL);
    }
    static __device__ State load(double x, uint64_t) {
        return of<1, 1>(x * x, [=](unsigned) { return x; });
    }
    // The State after N more numbers.
    template <unsigned N, unsigned Length, class Terms>
    static __device__ State with(State s, const Terms &term) {
        const double sum = sum_of_squares<N, Length>(term);
        if (is_medium(sum) && s.scale == GR_MEDIUM)
            return in_scale(s.sum() + sum, GR_MEDIUM);
        return combine(s, of<N, Length>(sum, term));
    }
    static __device__ State combine(State a, State b) {
        if (a.scale == b.scale)
            return in_scale(a.sum() + b.sum(), a.scale);
        const State high = a.scale > b.scale ? a : b, low = a.scale > b.scale ? b : a;
        if (high.sum() == 0)
            return low;
        // By one scale; small ones do not count next to large ones.
        const double shrink = power_of_two(-GR_SCALE);
        return in_scale(high.sum() + low.sum() * shrink * shrink, high.scale);
    }
    // Of `width` neighbouring lanes, into the first: nearly always all of them are medium.
    static __device__ State of_lanes(State x, unsigned width) {
        if (__all_sync(0xffffffffu, x.scale == GR_MEDIUM)) {
            double sum = x.sum();
            for (unsigned offset = width / 2; offset > 0; offset /= 2)
                sum += shuffle_down(sum, offset, width);
            return in_scale(sum, GR_MEDIUM);
        }
        for (unsigned offset = width / 2; offset > 0; offset /= 2)
            x = combine(x, shuffle_down(x, offset, width));
        return x;
    }
    // For grid/block_state.cuh.
    static __device__ State reduce_warp(State x) {
        return of_lanes(x, 32);
    }
    static __device__ double finish(State s, uint64_t) {
        return sqrt(s.sum()) * power_of_two((s.scale - GR_MEDIUM) * GR_SCALE);
    }
    static __device__ State start(double) {
        return identity();
    }
};

template <class In> struct VectorAccumulator<RootNorm<In>, In> : StateAccumulator<RootNorm<In>> {
    using State = typename RootNorm<In>::State;
    template <unsigned N> static __device__ State of(const Vec16<In> *x) {
        constexpr unsigned length = Vec16<In>::length;
        const auto term = [=](unsigned i) { return double(widen(element_of(x, i))); };
        const double sum = sum_of_squares<N * length, length>(term);
        if constexpr (sizeof(In) == 8)
            return RootNorm<In>::template of<N * length, length>(sum, term);
        else
            return sum;
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        constexpr unsigned length = Vec16<In>::length;
        acc = RootNorm<In>::template with<N * length, length>(
            acc, [=](unsigned i) { return double(widen(element_of(x, i))); });
    }
};

// Those of columns, too, are looked at a few at a time.
template <> struct BatchAccumulator<RootNorm<double>, double> {
    static constexpr bool there = true, contest = false;
    template <unsigned N, class Each, class There>
    static __device__ RootNorm<double>::State add(RootNorm<double>::State s, const Each &x,
                                                  const There &there, uint64_t, uint64_t) {
        return RootNorm<double>::with<N, 1>(s, [&](unsigned j) { return there(j) ? x(j) : 0.0; });
    }
};

// ---- any order ----

// The sum of terms is `value` times two to the power of `exponent`, so that no power over- or underflows;
// instead of sums there may be the largest or the smallest magnitude.
//
// Exponents of powers of a large order p have no bits left for fractions. There `value` is the largest
// magnitude (the smallest where p < 0), `exponent` the sum of the p-th powers of the quotients by it, and
// `kind` the bits of p as a float: a term e^-x is off by x e^-x 2^-24 at the most by that, of which the root
// leaves 2^-24 / p. From GR_ORDER_OF_EXTREME on, the root of a number of elements is 1.
struct Powers {
    double value, exponent;
    uint32_t kind;
};
enum : uint32_t { GR_NO_POWERS, GR_SUM_OF_POWERS, GR_MOST_OF_ALL, GR_LEAST_OF_ALL };
#define GR_LARGE_ORDER 0x1p40
#define GR_ORDER_OF_EXTREME 0x1p60
inline __device__ bool has_large_order(const Powers &s) {
    return s.kind > GR_LEAST_OF_ALL;
}

inline __device__ double magnitude(float x) {
    return fabs(double(x));
}
inline __device__ double magnitude(double x) {
    return fabs(x);
}
template <class T> __device__ double magnitude(ComplexParts<T> x) {
    return hypot(double(x.re), double(x.im));
}

// Two to the power of a whole number, 0 where that is far below 1.
inline __device__ double scale_of(double exponent) {
    return exponent < -1000 ? 0.0 : power_of_two(int(exponent));
}

// The mantissa, from 1 to 2, and the exponent of a finite number that is not 0.
inline __device__ double parted(double x, double &exponent) {
    const bool tiny = x < power_of_two(-1000);
    const double grown = tiny ? x * power_of_two(100) : x;
    const int high = __double2hiint(grown);
    exponent = double((high >> 20) - 1023 - (tiny ? 100 : 0));
    return __hiloint2double((high & 0xfffff) | 1023 << 20, __double2loint(grown));
}

// Two to the power of whole + rest, as a value of about 1 and a whole exponent.
inline __device__ Powers two_to(double whole, double rest) {
    const double first = rint(whole), left = (whole - first) + rest, second = rint(left);
    return {exp2(left - second), first + second, GR_SUM_OF_POWERS};
}

static __device__ __noinline__ Powers any_power_of(double x, double order) {
    if (order == 0)
        return {x == 0 ? 0.0 : 1.0, 0, GR_SUM_OF_POWERS};
    if (fabs(order) >= GR_ORDER_OF_EXTREME)
        return {x, 0, order > 0 ? GR_MOST_OF_ALL : GR_LEAST_OF_ALL};
    if (fabs(order) >= GR_LARGE_ORDER)
        return {x, 1, __float_as_uint(float(order))};
    if (x == 0 || !(x < INFINITY))
        return {x != x ? x : (x == 0) == (order > 0) ? 0.0 : double(INFINITY), 0, GR_SUM_OF_POWERS};
    double exponent;
    const double mantissa = parted(x, exponent), whole = exponent * order;
    return two_to(whole, __fma_rn(exponent, order, -whole) + order * log2(mantissa));
}

// Powers of the first orders are products.
inline __device__ Powers power_of(double x, double order) {
    if ((order == 1 || order == 2 || order == 3) && x > 0 && x < INFINITY) {
        double exponent;
        const double mantissa = parted(x, exponent), square = order > 1 ? mantissa * mantissa : mantissa;
        return {order > 2 ? square * mantissa : square, exponent * order, GR_SUM_OF_POWERS};
    }
    return any_power_of(x, order);
}

// The root of a sum: the inverse of the above.
static __device__ __noinline__ double root_of(const Powers &s, double order) {
    if (s.kind == GR_NO_POWERS)
        return order < 0 ? double(INFINITY) : 0.0;
    if (has_large_order(s))
        return s.value * exp(log(s.exponent) / order);
    if (s.kind != GR_SUM_OF_POWERS || order == 0)
        return s.value;
    if (s.value == 0 || !(s.value < INFINITY))
        return s.value != s.value ? s.value : (s.value == 0) == (order > 0) ? 0.0 : double(INFINITY);
    double exponent;
    const double mantissa = parted(s.value, exponent), whole = (exponent + s.exponent) / order;
    if (!(fabs(whole) < 1e6)) // and more, where the order is about 0
        return whole > 0 ? double(INFINITY) : 0.0;
    const double rest = __fma_rn(-whole, order, exponent + s.exponent) / order;
    const Powers root =
        order == 1 ? Powers{mantissa, whole, GR_SUM_OF_POWERS} : two_to(whole, rest + log2(mantissa) / order);
    const double half = rint(root.exponent / 2); // in two steps: the whole of it may be beyond a double
    if (root.exponent > 2000 || root.exponent < -2000)
        return root.exponent > 0 ? double(INFINITY) : 0.0;
    return root.value * power_of_two(int(half)) * power_of_two(int(root.exponent - half));
}

static __device__ Powers with_large_order(const Powers &a, const Powers &b) {
    const double order = double(__uint_as_float(a.kind));
    const bool later = order > 0 ? wins<true>(b.value, a.value) : wins<false>(b.value, a.value);
    const Powers &top = later ? b : a, &rest = later ? a : b;
    const double apart = (rest.value - top.value) / top.value; // -infinity / infinity: NaN
    const double quotient = rest.value == top.value ? 1.0
                            : isinf(top.value)      ? 0.0
                                                    : exp(order * log1p(apart));
    return {top.value, top.exponent + rest.exponent * quotient, top.kind};
}

template <class In> struct AnyNorm {
    using State = Powers;
    using Out = typename RealOf<In>::type;
    static __device__ State identity() {
        return {0, 0, GR_NO_POWERS};
    }
    static __device__ State combine(const State &a, const State &b) {
        if (a.kind == GR_NO_POWERS || b.kind == GR_NO_POWERS)
            return a.kind == GR_NO_POWERS ? b : a;
        const double apart = a.exponent - b.exponent;
        if (a.kind == GR_SUM_OF_POWERS && a.value > 0 && a.value < INFINITY && b.value > 0 &&
            b.value < INFINITY && fabs(apart) < 1000)
            return sum_of(a, b, apart);
        return combine_any(a, b);
    }
    // By the larger exponent.
    static __device__ State sum_of(const State &a, const State &b, double apart) {
        const double scale = scale_of(-fabs(apart));
        return apart < 0 ? State{a.value * scale + b.value, b.exponent, GR_SUM_OF_POWERS}
                         : State{a.value + b.value * scale, a.exponent, GR_SUM_OF_POWERS};
    }
    static __device__ __noinline__ State combine_any(const State &a, const State &b) {
        if (a.kind == GR_MOST_OF_ALL)
            return wins<true>(b.value, a.value) ? b : a;
        if (a.kind == GR_LEAST_OF_ALL)
            return wins<false>(b.value, a.value) ? b : a;
        if (has_large_order(a))
            return with_large_order(a, b);
        if (!(a.value < INFINITY && b.value < INFINITY))
            return {a.value + b.value, 0, GR_SUM_OF_POWERS};
        if (a.value == 0 || b.value == 0)
            return a.value == 0 ? b : a;
        return sum_of(a, b, a.exponent - b.exponent);
    }
    static __device__ Out finish(State s, uint64_t order) {
        const double result = root_of(s, __longlong_as_double(int64_t(order)));
        return Narrow<Out>::from(result);
    }
};

// The power of an element, whose order is a parameter of the launch; as FromElement of
// reduce/general/axis.cuh.
template <class In> struct FromPower : OneByOne {
    static constexpr unsigned in_flight = 2; // registers of more would leave one block per multiprocessor
    struct Loaded {
        In x;
        uint8_t taken;
        double order;
    };
    static __device__ Loaded fetch(const gr_general_params &p, int64_t in, int64_t second) {
        Loaded loaded;
        loaded.x = *reinterpret_cast<const In *>(p.in + in);
        loaded.taken = p.flags & GR_HAS_WHERE ? *reinterpret_cast<const uint8_t *>(p.second + second) : 1;
        loaded.order = __longlong_as_double(int64_t(p.divisor));
        return loaded;
    }
    static __device__ Powers add(const Powers &s, const Loaded &loaded, uint64_t) {
        return loaded.taken ? AnyNorm<In>::combine(s, power_of(magnitude(widen(loaded.x)), loaded.order)) : s;
    }
};

} // namespace gr::reduce
