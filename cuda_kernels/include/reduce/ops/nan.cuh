// Operators that leave NaNs out (nansum, nanmax, ...): functors as in functors.cuh, and thread accumulators
// as in accumulate.cuh. A complex number is a NaN if either part is.
#pragma once

#include "reduce/accumulate.cuh"
#include "reduce/batch_accumulate.cuh"
#include "reduce/params.h"

namespace gr::reduce {

using ops::plus;

template <class T> struct NoNumber {
    static __device__ T make() {
        return NAN;
    }
};
template <class T> struct NoNumber<ComplexParts<T>> {
    static __device__ ComplexParts<T> make() {
        return {NAN, NAN};
    }
};

// ---- sums; means, for which how many elements there are counts, too ----

template <class In> struct NanSum {
    using Of = Mean<In>;
    using State = typename Of::State;
    using Out = In;
    static constexpr bool neutral = true;
    static __device__ In padding() {
        return Narrow<In>::from(NoNumber<Wide<In>>::make());
    }
    static __device__ State identity() {
        return Of::identity();
    }
    static __device__ State load(In x, uint64_t position) {
        return is_nan(widen(x)) ? identity() : Of::load(x, position);
    }
    static __device__ State combine(State a, State b) {
        return plus(a, b);
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(s);
    }
    static __device__ State start(Out x) {
        return Of::load(x, 0);
    }
};

// A sum and the number of its summands.
template <class T> struct Counted {
    T sum;
    uint32_t count;
};
template <class T> __device__ Counted<T> plus(Counted<T> a, Counted<T> b) {
    return {plus(a.sum, b.sum), a.count + b.count};
}
template <class In> __device__ Counted<typename NanSum<In>::State> counted(In x, bool there = true) {
    const bool counts = there && !is_nan(widen(x));
    return {counts ? Mean<In>::load(x, 0) : NanSum<In>::identity(), counts};
}

// The sum of N chunks by a tree.
template <unsigned N, class In>
__device__ Counted<typename NanSum<In>::State> sum_without_nans(const Vec16<In> *x) {
    return tree_sum<N * Vec16<In>::length>([=](unsigned i) { return counted<In>(element_of(x, i)); });
}

template <class In> struct VectorAccumulator<NanSum<In>, In> : StateAccumulator<NanSum<In>> {
    using State = typename NanSum<In>::State;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = plus(acc, sum_without_nans<N>(x).sum);
    }
};

template <class In> struct NanMean {
    using Of = NanSum<In>;
    using Out = In;
    static constexpr bool neutral = true;
    struct State { // in words of four bytes behind the sum: there is none that nothing is in
        typename Of::State sum;
        uint32_t low, high;
        __device__ uint64_t count() const {
            return uint64_t(high) << 32 | low;
        }
    };
    static __device__ State of(typename Of::State sum, uint64_t count) {
        return {sum, uint32_t(count), uint32_t(count >> 32)};
    }
    static __device__ In padding() {
        return Narrow<In>::from(NoNumber<Wide<In>>::make());
    }
    static __device__ State identity() {
        return {Of::identity(), 0, 0};
    }
    static __device__ State load(In x, uint64_t position) {
        return {Of::load(x, position), !is_nan(widen(x)), 0};
    }
    static __device__ State combine(State a, State b) {
        return of(plus(a.sum, b.sum), a.count() + b.count());
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(divide(s.sum, s.count()));
    }
    static __device__ State start(Out x) {
        return {Of::start(x), 0, 0};
    }
    // Of `width` neighbouring lanes, into the first: counts are seldom of more than a word.
    static __device__ State of_lanes(State x, unsigned width) {
        if (__all_sync(0xffffffffu, x.high == 0 && x.low < 1u << 27)) {
            for (unsigned offset = width / 2; offset > 0; offset /= 2) {
                x.sum = plus(x.sum, shuffle_down(x.sum, offset, width));
                x.low += __shfl_down_sync(0xffffffffu, x.low, offset, width);
            }
            return x;
        }
        for (unsigned offset = width / 2; offset > 0; offset /= 2)
            x = combine(x, shuffle_down(x, offset, width));
        return x;
    }
};

template <class In> struct VectorAccumulator<NanMean<In>, In> : StateAccumulator<NanMean<In>> {
    using State = typename NanMean<In>::State;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        const auto more = sum_without_nans<N>(x);
        acc = NanMean<In>::of(plus(acc.sum, more.sum), acc.count() + more.count);
    }
#if __CUDA_ARCH__ >= 800
    // For grid/block_state.cuh: the counts, of up to 54 bits, in two instructions.
    static __device__ State reduce_warp(State x) {
        const uint32_t low = __reduce_add_sync(0xffffffffu, x.low & 0x7ffffffu);
        const uint32_t high = __reduce_add_sync(0xffffffffu, uint32_t(x.count() >> 27));
#pragma unroll
        for (unsigned offset = 16; offset > 0; offset /= 2)
            x.sum = plus(x.sum, shuffle_down(x.sum, offset));
        return NanMean<In>::of(x.sum, (uint64_t(high) << 27) + low);
    }
#endif
};

// Those of columns are counted a few at a time.
template <class In> struct BatchAccumulator<NanMean<In>, In> {
    using State = typename NanMean<In>::State;
    static constexpr bool there = true, contest = false;
    template <unsigned N, class Each, class There>
    static __device__ State add(State s, const Each &x, const There &there, uint64_t, uint64_t) {
        const auto more = tree_sum<N>([&](unsigned j) { return counted<In>(x(j), there(j)); });
        return NanMean<In>::of(plus(s.sum, more.sum), s.count() + more.count);
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

// ---- the least or the largest: NaN where there is no other number ----

template <class T> __device__ T lesser(T a, T b) {
    return fmin(a, b);
}
template <class T> __device__ T larger(T a, T b) {
    return fmax(a, b);
}
template <class T> __device__ ComplexParts<T> lesser(ComplexParts<T> a, ComplexParts<T> b) {
    return is_nan(a) || (!is_nan(b) && less(b, a)) ? b : a;
}
template <class T> __device__ ComplexParts<T> larger(ComplexParts<T> a, ComplexParts<T> b) {
    return is_nan(a) || (!is_nan(b) && less(a, b)) ? b : a;
}

// The better of two that may be NaN. Of doubles the first of equal ones, whatever their signs: min.f64, which
// takes -0 for the less, is more than twice as long on sm_90.
template <bool Largest> __device__ double number(double a, double b) {
    return is_nan(a) || (Largest ? less(a, b) : less(b, a)) ? b : a;
}
template <bool Largest, class T> __device__ T number(T a, T b) {
    return Largest ? larger(a, b) : lesser(a, b);
}

template <class In, bool Largest> struct NanExtreme : Elementwise<In> {
    using State = Wide<In>;
    static __device__ State identity() {
        return NoNumber<State>::make();
    }
    static __device__ State combine(State a, State b) {
        return number<Largest>(a, b);
    }
};
template <class In> struct NanMin : NanExtreme<In, false> {};
template <class In> struct NanMax : NanExtreme<In, true> {};

// From sm_90 on, elements of 16 bits go two at a time.
template <class In> constexpr bool pairs_numbers = false;
template <bool Largest, class In> __device__ uint32_t number_pair(In, uint32_t a, uint32_t b);
#if __CUDA_ARCH__ >= 900
GR_BEST_OF_WORDS(pairs_numbers, number_pair, gr_f16, "f16x2")
GR_BEST_OF_WORDS(pairs_numbers, number_pair, gr_bf16, "bf16x2")
#endif

template <class In, bool Largest> struct VectorNanExtreme : StateAccumulator<NanExtreme<In, Largest>> {
    using F = NanExtreme<In, Largest>;
    using State = Wide<In>;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        if constexpr (pairs_numbers<In>) {
            Vec16<In> best;
            best.set_word(0,
                          tree<4 * N>([](uint32_t a, uint32_t b) { return number_pair<Largest>(In(), a, b); },
                                      [=](unsigned i) { return word_of(x, i); }));
            acc = F::combine(acc, F::combine(widen(best.at(0)), widen(best.at(1))));
        } else {
            acc = F::combine(
                acc, tree<N * Vec16<In>::length>([](State a, State b) { return F::combine(a, b); },
                                                 [=](unsigned i) { return widen(element_of(x, i)); }));
        }
    }
};
template <class In> struct VectorAccumulator<NanMin<In>, In> : VectorNanExtreme<In, false> {};
template <class In> struct VectorAccumulator<NanMax<In>, In> : VectorNanExtreme<In, true> {};

// ---- the least and the largest at once ----

// NaN where there is no other number. A NaN is passed on, all the same.
template <class In> struct Extremes {
    using T = Wide<In>;
    using Out = In;
    struct State {
        T least, largest;
        uint32_t nans;
    };
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
        const T result = what == GR_MAGNITUDE ? larger(fabs(s.least), fabs(s.largest)) : s.largest - s.least;
        return Narrow<Out>::from(s.nans ? T(NAN) : result);
    }
    static __device__ State start(Out x) {
        return load(x, 0);
    }
};

// ---- where they are: -1 where all are NaN ----

template <class In, bool Largest> struct NanArgExtreme : ArgExtreme<In, Largest> {
    using State = ArgValue<Wide<In>>;
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

template <class T> __device__ bool same(T a, T b) {
    return a == b;
}
template <class T> __device__ bool same(ComplexParts<T> a, ComplexParts<T> b) {
    return a.re == b.re && a.im == b.im;
}

// As FlatArgExtreme: searches for the position only if a turn has a better element.
template <class In, bool Largest>
struct VectorNanArgExtreme : StateAccumulator<NanArgExtreme<In, Largest>>, ByKey<In, Largest> {
    using State = ArgValue<Wide<In>>;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t first, uint64_t apart) {
        constexpr unsigned length = Vec16<In>::length;
        Wide<In> best = widen(x[0].at(0));
#pragma unroll
        for (unsigned i = 1; i < N * length; ++i) {
            const Wide<In> value = widen(element_of(x, i));
            best = Largest ? larger(best, value) : lesser(best, value);
        }
        const bool better = acc.position < 0 || (Largest ? less(acc.value, best) : less(best, acc.value));
        if (is_nan(best) || !better)
            return;
        uint32_t at = 0;
#pragma unroll
        for (unsigned i = N * length; i-- > 0;)
            if (same(best, widen(element_of(x, i))))
                at = i;
        acc = {best, int64_t(first + at / length * apart + at % length)};
    }
};
template <class In> struct VectorAccumulator<NanArgMin<In>, In> : VectorNanArgExtreme<In, false> {};
template <class In> struct VectorAccumulator<NanArgMax<In>, In> : VectorNanArgExtreme<In, true> {};

} // namespace gr::reduce
