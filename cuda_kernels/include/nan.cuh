// Functors that leave NaNs out: their parts as in functors.cuh, those of the flat kernels as in absorb.cuh. A
// complex number is a NaN where either part is. `finish` is told which of the results that differ in the last
// step is meant.
#pragma once

#include "absorb.cuh"

// ---- sums and means: how many elements there are counts, too ----

template <class In> struct NanSum {
    using Of = Mean<In>;
    using Out = In;
    struct State {
        uint64_t count;
        typename Of::State sum;
    };
    static __device__ State identity() {
        return {0, Of::identity()};
    }
    static __device__ State load(In x, uint64_t position) {
        return is_nan(widen(x)) ? identity() : State{1, Of::load(x, position)};
    }
    static __device__ State combine(State a, State b) {
        return {a.count + b.count, plus(a.sum, b.sum)};
    }
    static __device__ Out finish(State s, uint64_t is_mean) {
        return Narrow<Out>::from(is_mean ? divide(s.sum, s.count) : s.sum);
    }
    static __device__ State start(Out x) {
        return {0, Of::load(x, 0)};
    }
};

// The elements of one turn are added up by a tree.
template <class In> struct FlatNanSum : NanSum<In>, KeepsState<typename NanSum<In>::State> {
    using F = NanSum<In>;
    using State = typename F::State;
    static __device__ State open() {
        return F::identity();
    }
    template <unsigned N> static __device__ void absorb(State &acc, const Chunk<In> *x, uint64_t, uint64_t) {
        constexpr unsigned length = Chunk<In>::length;
        uint32_t nans = 0;
        const auto sum = tree_sum<N * length>([&](unsigned i) {
            const In element = x[i / length].at(i % length);
            const bool nan = is_nan(widen(element));
            nans += nan;
            return nan ? F::Of::identity() : F::Of::load(element, 0);
        });
        acc = {acc.count + (N * length - nans), plus(acc.sum, sum)};
    }
};

// ---- products ----

template <class In> struct NanProd : Prod<In> {
    using State = typename Prod<In>::State;
    static __device__ State load(In x, uint64_t) {
        const State value = widen(x);
        return is_nan(value) ? Prod<In>::identity() : value;
    }
};
template <class In> struct FlatNanProd : ByElement<NanProd<In>, In> {};

// ---- the least and the largest, both at once ----

enum : uint64_t { GR_LEAST, GR_LARGEST, GR_SPREAD, GR_MAGNITUDE };

inline __device__ float lesser(float a, float b) {
    return fminf(a, b);
}
inline __device__ double lesser(double a, double b) {
    return fmin(a, b);
}
inline __device__ float larger(float a, float b) {
    return fmaxf(a, b);
}
inline __device__ double larger(double a, double b) {
    return fmax(a, b);
}
template <class T> __device__ Pair<T> lesser(Pair<T> a, Pair<T> b) {
    return is_nan(a) || (!is_nan(b) && less(b, a)) ? b : a;
}
template <class T> __device__ Pair<T> larger(Pair<T> a, Pair<T> b) {
    return is_nan(a) || (!is_nan(b) && less(a, b)) ? b : a;
}

// NaN where there is no other number. Whether there was a NaN is for the results that pass it on, which
// complex numbers do not have.
template <class T> struct Limits {
    T least, largest;
    uint32_t nans;
};
template <class T> struct Limits<Pair<T>> { Pair<T> least, largest; };

template <class In> struct Extremes {
    using T = Wide<In>;
    using State = Limits<T>;
    using Out = In;
    static __device__ State identity() {
        return {NAN, NAN, 0};
    }
    static __device__ State load(In x, uint64_t) {
        const T value = widen(x);
        return {value, value, is_nan(value)};
    }
    static __device__ State combine(State a, State b) {
        return {lesser(a.least, b.least), larger(a.largest, b.largest), a.nans | b.nans};
    }
    static __device__ Out finish(State s, uint64_t what) {
        T result = what == GR_LEAST ? s.least : s.largest;
        if (what == GR_SPREAD)
            result = s.largest - s.least;
        if (what == GR_MAGNITUDE)
            result = larger(fabs(s.least), fabs(s.largest));
        return Narrow<Out>::from(s.nans && what >= GR_SPREAD ? T(NAN) : result);
    }
    static __device__ State start(Out x) {
        return load(x, 0);
    }
};

template <class In> struct ComplexExtremes {
    using T = Wide<In>;
    using State = Limits<T>;
    using Out = In;
    static __device__ State identity() {
        return {{NAN, NAN}, {NAN, NAN}};
    }
    static __device__ State load(In x, uint64_t) {
        return {widen(x), widen(x)};
    }
    static __device__ State combine(State a, State b) {
        return {lesser(a.least, b.least), larger(a.largest, b.largest)};
    }
    static __device__ Out finish(State s, uint64_t what) {
        return Narrow<Out>::from(what == GR_LEAST ? s.least : s.largest);
    }
    static __device__ State start(Out x) {
        return load(x, 0);
    }
};
template <> struct Extremes<gr_c64> : ComplexExtremes<gr_c64> {};
template <> struct Extremes<gr_c128> : ComplexExtremes<gr_c128> {};
template <class In> struct FlatExtremes : ByElement<Extremes<In>, In> {};

// ---- where they are: -1 where all are NaN ----

template <class In, bool Largest> struct NanArgExtreme : ArgExtreme<In, Largest> {
    using State = Place<Wide<In>>;
    static __device__ State load(In x, uint64_t position) {
        const Wide<In> value = widen(x);
        return {value, is_nan(value) ? -1 : int64_t(position)};
    }
    static __device__ State append(State s, In x, uint64_t position) {
        const Wide<In> value = widen(x);
        const bool better = s.position < 0 || (Largest ? less(s.value, value) : less(value, s.value));
        return better && !is_nan(value) ? State{value, int64_t(position)} : s;
    }
};
template <class In> struct NanArgMin : NanArgExtreme<In, false> {};
template <class In> struct NanArgMax : NanArgExtreme<In, true> {};

inline __device__ bool same(float a, float b) {
    return a == b;
}
inline __device__ bool same(double a, double b) {
    return a == b;
}
template <class T> __device__ bool same(Pair<T> a, Pair<T> b) {
    return a.re == b.re && a.im == b.im;
}

// As FlatArgExtreme: looks for the place only when a turn holds something better.
template <class In, bool Largest>
struct FlatNanArgExtreme : NanArgExtreme<In, Largest>, KeepsState<Place<Wide<In>>>, ByKey<In, Largest> {
    using State = Place<Wide<In>>;
    static __device__ State open() {
        return NanArgExtreme<In, Largest>::identity();
    }
    template <unsigned N>
    static __device__ void absorb(State &acc, const Chunk<In> *x, uint64_t first, uint64_t apart) {
        constexpr unsigned length = Chunk<In>::length;
        Wide<In> best = widen(x[0].at(0));
#pragma unroll
        for (unsigned i = 1; i < N * length; ++i) {
            const Wide<In> value = widen(x[i / length].at(i % length));
            best = Largest ? larger(best, value) : lesser(best, value);
        }
        const bool better = acc.position < 0 || (Largest ? less(acc.value, best) : less(best, acc.value));
        if (is_nan(best) || !better)
            return;
        uint32_t at = 0;
#pragma unroll
        for (unsigned i = N * length; i-- > 0;)
            if (same(best, widen(x[i / length].at(i % length))))
                at = i;
        acc = {best, int64_t(first + at / length * apart + at % length)};
    }
};
template <class In> struct FlatNanArgMin : FlatNanArgExtreme<In, false> {};
template <class In> struct FlatNanArgMax : FlatNanArgExtreme<In, true> {};
