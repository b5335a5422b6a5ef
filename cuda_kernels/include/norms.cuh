// Norms, of real numbers: sums of magnitudes and of squares at once, of which `finish` is told which is
// meant. Any norm of any elements, for general_axis: a sum of powers.
//
// Squares of floats neither over- nor underflow in double. Those of doubles are summed up by their size, the
// large ones and the small ones scaled: J. L. Blue, "A portable Fortran program to find the Euclidean norm of
// a vector" (1978), with the constants of E. Anderson, "Algorithm 978: safe scaling in the level 1 BLAS"
// (2017).
#pragma once

#include "absorb.cuh"
#include "general_axis.cuh"

enum : uint64_t { GR_SUM_NORM = 1, GR_ROOT_NORM = 2 };

template <class In> struct Norms {
    struct State {
        double squares, sum;
    };
    using Out = In;
    static __device__ State identity() {
        return {0, 0};
    }
    static __device__ State load(In x, uint64_t) {
        const double value = double(widen(x));
        return {value * value, fabs(value)};
    }
    static __device__ State combine(State a, State b) {
        return {a.squares + b.squares, a.sum + b.sum};
    }
    static __device__ Out finish(State s, uint64_t what) {
        return Narrow<Out>::from(float(what == GR_SUM_NORM ? s.sum : sqrt(s.squares)));
    }
    static __device__ State start(Out) {
        return identity(); // there is no initial value
    }
};

// Powers of two, as the lowest bits of their exponents: what counts as large and as small, and what such are
// multiplied by.
inline __device__ double power_of_two(int exponent) {
    return __hiloint2double((1023 + exponent) << 20, 0);
}
enum { GR_LARGE = 486, GR_SMALL = -511, GR_SHRINK = -538, GR_GROW = 537 };

template <> struct Norms<double> {
    struct State {
        double large, medium, small, sum;
    };
    using Out = double;
    static __device__ State identity() {
        return {0, 0, 0, 0};
    }
    static __device__ State load(double x, uint64_t) {
        const double size = fabs(x);
        const bool is_large = size > power_of_two(GR_LARGE), is_small = size < power_of_two(GR_SMALL);
        const double scale = is_large ? power_of_two(GR_SHRINK) : is_small ? power_of_two(GR_GROW) : 1.0;
        const double scaled = size * scale, square = scaled * scaled;
        return {is_large ? square : 0.0, is_large || is_small ? 0.0 : square, is_small ? square : 0.0, size};
    }
    static __device__ State combine(State a, State b) {
        return {a.large + b.large, a.medium + b.medium, a.small + b.small, a.sum + b.sum};
    }
    // Of NaNs, which are neither large nor small, `medium` tells.
    static __device__ double root(State s) {
        if (s.large > 0) {
            const double shrink = power_of_two(GR_SHRINK);
            return sqrt(s.large + s.medium * shrink * shrink) * power_of_two(-GR_SHRINK);
        }
        if (!(s.small > 0))
            return sqrt(s.medium);
        const double below = sqrt(s.small) * power_of_two(-GR_GROW), medium = sqrt(s.medium);
        if (s.medium == 0)
            return below;
        const double least = below < medium ? below : medium, most = below < medium ? medium : below;
        return most * sqrt(1 + (least / most) * (least / most));
    }
    static __device__ double finish(State s, uint64_t what) {
        return what == GR_SUM_NORM ? s.sum : root(s);
    }
    static __device__ State start(double) {
        return identity();
    }
};
template <class In> struct FlatNorms : ByElement<Norms<In>, In> {};

// ---- any order ----

// The sum of terms is `value` times two to the power of `exponent`, so that no power over- or underflows; in
// place of sums there may be the largest or the smallest magnitude.
struct Powers {
    double value, exponent;
    uint32_t kind;
};
enum : uint32_t { GR_NO_POWERS, GR_SUM_OF_POWERS, GR_MOST_OF_ALL, GR_LEAST_OF_ALL };

inline __device__ double magnitude(float x) {
    return fabs(double(x));
}
inline __device__ double magnitude(double x) {
    return fabs(x);
}
template <class T> __device__ double magnitude(Pair<T> x) {
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

static __device__ __noinline__ Powers power_of(double x, double order) {
    if (order == 0)
        return {x == 0 ? 0.0 : 1.0, 0, GR_SUM_OF_POWERS};
    if (isinf(order))
        return {x, 0, order > 0 ? GR_MOST_OF_ALL : GR_LEAST_OF_ALL};
    if (x == 0 || !(x < INFINITY))
        return {x != x ? x : (x == 0) == (order > 0) ? 0.0 : double(INFINITY), 0, GR_SUM_OF_POWERS};
    double exponent;
    const double mantissa = parted(x, exponent), whole = exponent * order;
    return two_to(whole, __fma_rn(exponent, order, -whole) + order * log2(mantissa));
}

// The root of a sum: the inverse of the above.
static __device__ __noinline__ double root_of(const Powers &s, double order) {
    if (s.kind != GR_SUM_OF_POWERS || order == 0)
        return s.value;
    if (s.value == 0 || !(s.value < INFINITY))
        return s.value != s.value ? s.value : (s.value == 0) == (order > 0) ? 0.0 : double(INFINITY);
    double exponent;
    const double mantissa = parted(s.value, exponent), whole = (exponent + s.exponent) / order;
    const double rest = __fma_rn(-whole, order, exponent + s.exponent) / order;
    const Powers root = two_to(whole, rest + log2(mantissa) / order);
    const double half = rint(root.exponent / 2); // in two steps: the whole of it may be beyond a double
    if (root.exponent > 2000 || root.exponent < -2000)
        return root.exponent > 0 ? double(INFINITY) : 0.0;
    return root.value * power_of_two(int(half)) * power_of_two(int(root.exponent - half));
}

// A magnitude's dtype.
template <class In> struct RealOf { using type = In; };
template <> struct RealOf<gr_c64> { using type = float; };
template <> struct RealOf<gr_c128> { using type = double; };

template <class In> struct AnyNorm {
    using State = Powers;
    using Out = typename RealOf<In>::type;
    static __device__ State identity() {
        return {0, 0, GR_NO_POWERS};
    }
    static __device__ __noinline__ State combine(const State &a, const State &b) {
        if (a.kind == GR_NO_POWERS || b.kind == GR_NO_POWERS)
            return a.kind == GR_NO_POWERS ? b : a;
        if (a.kind == GR_MOST_OF_ALL)
            return wins<true>(b.value, a.value) ? b : a;
        if (a.kind == GR_LEAST_OF_ALL)
            return wins<false>(b.value, a.value) ? b : a;
        if (!(a.value < INFINITY && b.value < INFINITY))
            return {a.value + b.value, 0, GR_SUM_OF_POWERS};
        if (a.value == 0 || b.value == 0)
            return a.value == 0 ? b : a;
        const double apart = a.exponent - b.exponent;
        if (apart < 0)
            return {a.value * scale_of(apart) + b.value, b.exponent, GR_SUM_OF_POWERS};
        return {a.value + b.value * scale_of(-apart), a.exponent, GR_SUM_OF_POWERS};
    }
    static __device__ Out finish(State s, uint64_t order) {
        const double result = root_of(s, __longlong_as_double(int64_t(order)));
        if constexpr (sizeof(Out) == 8)
            return result;
        else
            return Narrow<Out>::from(float(result));
    }
    static __device__ State start(Out) {
        return identity(); // there is no initial value
    }
};

// The power of an element, whose order the launch tells; as FromElement of general_axis.cuh.
template <class In> struct FromPower {
    static constexpr bool second = true;
    static constexpr unsigned in_flight = 4;
    using All = Together<void, void>;
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
