// Vector accumulators: how a thread takes in vectors of 16 bytes. VectorAccumulator<F, In> is a functor as F,
// a functor of functors.cuh or ordering.cuh, with
//   Acc                                  a thread's accumulator
//   init()                               the Acc of no elements
//   accumulate<N>(acc, x, first, apart)  takes in N vectors; element e of x[k] is at first + k * apart + e
//   accumulate<N>(acc, x, y)             the same for pairs of vectors
//   to_state(acc)                        its State
// Its State may be another than that of F.
#pragma once

#include "common/warp_max.cuh"
#include "grid/block_state.cuh"
#include "ops/ordering.cuh"
#include "reduce/by_element.cuh"

namespace gr::reduce {

using namespace grid;
using namespace ops;

template <class F, class In> struct VectorAccumulator : ByElement<F, In> {};

// ---- sums: what they have in common is SumOf<In>, with a State that `plus` adds ----

template <class S> struct Adds : StateAccumulator<Additive<S>> {};

// Combines Count terms, a power of two, as a balanced tree, branch by branch, so that few terms are live at
// once.
template <unsigned Count, class Combine, class Terms>
__device__ auto tree(const Combine &combine, const Terms &term, unsigned first = 0) {
    if constexpr (Count == 1)
        return term(first);
    else
        return combine(tree<Count / 2>(combine, term, first),
                       tree<Count / 2>(combine, term, first + Count / 2));
}
// The sum of terms: its rounding errors grow with the logarithm of Count.
template <unsigned Count, class Terms> __device__ auto tree_sum(const Terms &term) {
    return tree<Count>([](auto a, auto b) { return plus(a, b); }, term);
}

// The vectors of one turn are added up by a tree, in float for elements of up to that size; all turns,
// threads and blocks in S.
template <class In, class S> struct AddsTurns : Adds<S> {
    static constexpr bool integers = false;
    static __device__ S load(In x, uint64_t) {
        return plus(Neutral<S>::make(), widen(x));
    }
    template <unsigned N> static __device__ void accumulate(S &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = plus(acc, tree_sum<N * Vec16<In>::length>([=](unsigned i) { return widen(element_of(x, i)); }));
    }
};

// Knuth's two-sum: returns a + b, and adds what its rounding lost to `lost`.
inline __device__ float two_sum(float a, float b, float &lost) {
    const float sum = a + b, b_part = sum - a, a_part = sum - b_part;
    lost += (a - a_part) + (b - b_part);
    return sum;
}
inline __device__ ComplexParts<float> two_sum(ComplexParts<float> a, ComplexParts<float> b,
                                              ComplexParts<float> &lost) {
    return {two_sum(a.re, b.re, lost.re), two_sum(a.im, b.im, lost.im)};
}
// As normalize(Compensated).
inline __device__ double normalize(double sum, float lost) {
    return isfinite(sum) && lost != 0 ? sum + double(lost) : sum;
}
inline __device__ ComplexParts<double> normalize(ComplexParts<double> sum, ComplexParts<float> lost) {
    return {normalize(sum.re, lost.re), normalize(sum.im, lost.im)};
}

inline __device__ bool all_finite(float x) {
    return isfinite(x);
}
template <class T> __device__ bool all_finite(ComplexParts<T> x) {
    return isfinite(x.re) && isfinite(x.im);
}

// The same with compensation for the roundings in the trees. Where sums beyond a float still count (Beyond),
// a turn with one is added up again, one by one.
template <class In, class S, bool Beyond> struct AddsFloats : AddsTurns<In, S> {
    struct Acc {
        S sum;
        Wide<In> lost;
    };
    static __device__ Acc init() {
        return {Neutral<S>::make(), Zero<Wide<In>>::make()};
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        constexpr unsigned count = N * Vec16<In>::length;
        Wide<In> terms[count], lost = acc.lost;
#pragma unroll
        for (unsigned i = 0; i < count; ++i)
            terms[i] = widen(element_of(x, i));
#pragma unroll
        for (unsigned width = 1; width < count; width *= 2)
#pragma unroll
            for (unsigned i = 0; i + width < count; i += 2 * width)
                terms[i] = two_sum(terms[i], terms[i + width], lost);
        if (Beyond && !all_finite(terms[0])) {
#pragma unroll
            for (unsigned i = 0; i < count; ++i)
                acc.sum = plus(acc.sum, widen(element_of(x, i)));
            return;
        }
        acc.sum = plus(acc.sum, terms[0]);
        acc.lost = lost;
    }
    static __device__ Acc fold(const Acc &a, const Acc &b) {
        return {plus(a.sum, b.sum), plus(a.lost, b.lost)};
    }
    static __device__ S to_state(const Acc &acc) {
        return normalize(acc.sum, acc.lost);
    }
};

// A 1 in the highest bit of each byte that is not 0.
inline __device__ uint32_t nonzero_bytes(uint32_t word) {
    return ((word & 0x7f7f7f7fu) + 0x7f7f7f7fu | word) & 0x80808080u;
}
// A word of elements with one representation for each value: every byte but 0 is true.
template <class In> __device__ uint32_t plain_word(In, uint32_t word) {
    return word;
}
inline __device__ uint32_t plain_word(gr_bool, uint32_t word) {
    return nonzero_bytes(word) >> 7;
}
template <class In> __device__ Vec16<In> plain(Vec16<In> x) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        x.set_word(i, plain_word(In(), x.word(i)));
    return x;
}

// The products of the bytes of two words, four in one instruction; the same for the shorts of one and 1.
inline __device__ uint32_t word_dot(int8_t, uint32_t x, uint32_t y, uint32_t acc) {
    return uint32_t(__dp4a(int32_t(x), int32_t(y), int32_t(acc)));
}
inline __device__ uint32_t word_dot(uint8_t, uint32_t x, uint32_t y, uint32_t acc) {
    return __dp4a(x, y, acc);
}
inline __device__ uint32_t word_dot(gr_bool, uint32_t x, uint32_t y, uint32_t acc) {
    return __dp4a(plain_word(gr_bool(), x), plain_word(gr_bool(), y), acc);
}
inline __device__ uint32_t word_sum(int16_t, uint32_t word, uint32_t acc) {
    return uint32_t(__dp2a_lo(int32_t(word), 0x0101, int32_t(acc)));
}
inline __device__ uint32_t word_sum(uint16_t, uint32_t word, uint32_t acc) {
    return __dp2a_lo(word, 0x0101u, acc);
}
template <class In> __device__ uint32_t word_sum(In, uint32_t word, uint32_t acc) {
    return word_dot(In(), word, 0x01010101u, acc);
}

template <class In, class S = Wide<In>> struct AddsIntegers : Adds<S> {
    using State = S;
    static constexpr bool integers = true;
    static __device__ State load(In x, uint64_t) {
        return widen(x);
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        if constexpr (sizeof(In) <= 2) {
            uint32_t sum = 0; // fits: of at most 128 bytes
#pragma unroll
            for (unsigned i = 0; i < 4 * N; ++i)
                sum = word_sum(In(), word_of(x, i), sum);
            acc = plus(acc, State(int32_t(sum)));
        } else {
#pragma unroll
            for (unsigned k = 0; k < N; ++k)
#pragma unroll
                for (unsigned e = 0; e < Vec16<In>::length; ++e)
                    acc = plus(acc, widen(x[k].at(e)));
        }
    }
};

template <class In> struct SumOf : AddsIntegers<In> {};
template <> struct SumOf<float> : AddsFloats<float, double, false> {};
template <> struct SumOf<double> : AddsTurns<double, double> {};
template <> struct SumOf<gr_f16> : AddsTurns<gr_f16, float> {};
template <> struct SumOf<gr_bf16> : AddsTurns<gr_bf16, float> {};
template <> struct SumOf<gr_c64> : AddsFloats<gr_c64, ComplexParts<double>, false> {};
template <> struct SumOf<gr_c128> : AddsTurns<gr_c128, ComplexParts<double>> {};

template <class In> struct VectorAccumulator<Sum<In>, In> : SumOf<In> {
    using State = typename SumOf<In>::State;
    using Out = typename SumOut<In>::type;
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(s);
    }
    static __device__ State start(Out x) {
        return plus(Neutral<State>::make(), widen(x));
    }
};

// Integers whose sums have 128 bits.
template <class In> struct AddsWideIntegers : Additive<Int128> {
    using State = Int128;
    using Acc = ThreadSum<In>;
    static __device__ State load(In x, uint64_t) {
        return Convert<State, Wide<In>>::to(widen(x));
    }
    static __device__ Acc init() {
        return Acc::none();
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
#pragma unroll
        for (unsigned i = 0; i < N * Vec16<In>::length; ++i)
            acc.add(widen(element_of(x, i)));
    }
    static __device__ State to_state(const Acc &acc) {
        return acc.state();
    }
};

template <class In, class State = typename Mean<In>::State> struct MeanOf : SumOf<In> {};
template <class In> struct MeanOf<In, int64_t> : AddsIntegers<In, int64_t> {};
template <class In> struct MeanOf<In, Int128> : AddsWideIntegers<In> {};
template <> struct MeanOf<float> : AddsFloats<float, double, true> {};
template <> struct MeanOf<gr_c64> : AddsFloats<gr_c64, ComplexParts<double>, true> {};

// Of a sum of vectors, which may have another type than that of Mean.
template <class In, class S> __device__ auto quotient_of_sum(S sum, uint64_t count) {
    if constexpr (std::is_integral<Wide<In>>::value)
        return MeanSum<In>::divide(sum, count);
    else
        return divide(sum, count);
}

template <class In> struct VectorAccumulator<Mean<In>, In> : MeanOf<In> {
    using State = typename MeanOf<In>::State;
    using Out = typename Mean<In>::Out;
    static __device__ Out finish(State s, uint64_t count) {
        return Narrow<Out>::from(quotient_of_sum<In>(s, count));
    }
    static __device__ State start(Out) {
        return Zero<State>::make();
    }
};

// Products are rounded to float, as those of a float loop are. Integers wrap in the dtype of the vectors, so
// that their lowest 32 bits are enough up to that size.
template <class In> struct VectorAccumulator<Dot<In>, In> : Adds<typename SumOf<In>::State> {
    using State = typename SumOf<In>::State;
    using Out = In;
    static __device__ State load(In x, In y) {
        return plus(Neutral<State>::make(), times(widen(x), widen(y)));
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, const Vec16<In> *y) {
        constexpr unsigned length = Vec16<In>::length;
        if constexpr (SumOf<In>::integers && sizeof(In) <= 4) {
            uint32_t sum = 0;
            if constexpr (sizeof(In) == 1) {
#pragma unroll
                for (unsigned i = 0; i < 4 * N; ++i)
                    sum = word_dot(In(), word_of(x, i), word_of(y, i), sum);
            } else {
#pragma unroll
                for (unsigned i = 0; i < N * length; ++i)
                    sum += uint32_t(widen(element_of(x, i))) * uint32_t(widen(element_of(y, i)));
            }
            acc = plus(acc, State(sum));
        } else {
            acc = plus(acc, tree_sum<N * length>([=](unsigned i) {
                           return times(widen(element_of(x, i)), widen(element_of(y, i)));
                       }));
        }
    }
    static __device__ Out finish(State s, uint64_t) {
        return Narrow<Out>::from(s);
    }
    static __device__ State start(Out) {
        return Zero<State>::make();
    }
};

// ---- minima and maxima: a thread keeps one for each place of a chunk ----

template <bool Largest, class In> __device__ In better(In a, In b) {
    return wins<Largest>(widen(b), widen(a)) ? b : a;
}
#if __CUDA_ARCH__ >= 800
template <> __device__ inline float better<true>(float a, float b) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));
    return a;
}
template <> __device__ inline float better<false>(float a, float b) {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));
    return a;
}
#endif

// Words of several elements at a time, place by place. From sm_90 on, elements of 16 bits go two at a time;
// bytes as the upper halves of such: once where they lie, once moved up. What is below them only decides
// between equals.
template <class In> constexpr bool by_word = false;
template <> constexpr bool by_word<gr_bool> = true;
template <bool Largest> __device__ uint32_t better_word(gr_bool, uint32_t a, uint32_t b) {
    return Largest ? a | b : a & b;
}
#if __CUDA_ARCH__ >= 900
// best<Largest>(In(), a, b) of two words, by the instructions of this type, and that In has it.
#define GR_BEST_OF_WORDS(has, best, In, type)                                                                \
    template <> constexpr bool has<In> = true;                                                               \
    template <bool Largest> __device__ uint32_t best(In, uint32_t a, uint32_t b) {                           \
        if (Largest)                                                                                         \
            asm("max." type " %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));                                      \
        else                                                                                                 \
            asm("min." type " %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));                                      \
        return a;                                                                                            \
    }
GR_BEST_OF_WORDS(by_word, better_word, gr_f16, "NaN.f16x2")
GR_BEST_OF_WORDS(by_word, better_word, gr_bf16, "NaN.bf16x2")
GR_BEST_OF_WORDS(by_word, better_word, int16_t, "s16x2")
GR_BEST_OF_WORDS(by_word, better_word, uint16_t, "u16x2")
#define GR_BETTER_BYTES(In, Short)                                                                           \
    template <> constexpr bool by_word<In> = true;                                                           \
    template <bool Largest> __device__ uint32_t better_word(In, uint32_t a, uint32_t b) {                    \
        const uint32_t upper = better_word<Largest>(Short(), a, b);                                          \
        const uint32_t lower = better_word<Largest>(Short(), a << 8, b << 8);                                \
        return __byte_perm(upper, lower,                                                                     \
                           0x3715); /* from the lowest: lower's 1, upper's 1, lower's 3, ... */              \
    }
GR_BETTER_BYTES(int8_t, int16_t)
GR_BETTER_BYTES(uint8_t, uint16_t)
#undef GR_BETTER_BYTES
#endif

template <bool Largest, class In> __device__ Vec16<In> better(Vec16<In> a, Vec16<In> b) {
    if constexpr (by_word<In>) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            a.set_word(i, better_word<Largest>(In(), a.word(i), b.word(i)));
        return a;
    } else {
        Vec16Elements<In> best;
#pragma unroll
        for (unsigned e = 0; e < Vec16<In>::length; ++e)
            best.element[e] = better<Largest>(a.at(e), b.at(e));
        return best.chunk;
    }
}

template <unsigned N, bool Largest, class In> __device__ Vec16<In> best_chunk(const Vec16<In> *x) {
    Vec16<In> best = plain(x[0]);
#pragma unroll
    for (unsigned k = 1; k < N; ++k)
        best = better<Largest>(best, plain(x[k]));
    return best;
}

template <bool Largest, class In> __device__ Wide<In> best_element(const Vec16<In> &x) {
    Vec16<In> first = x; // the best is folded into its first word, as far as words can be compared
    unsigned left = Vec16<In>::length;
    if constexpr (by_word<In>) {
#pragma unroll
        for (unsigned i = 1; i < 4; ++i)
            first.set_word(0, better_word<Largest>(In(), first.word(0), x.word(i)));
        left /= 4;
    }
    In best = first.at(0);
#pragma unroll
    for (unsigned e = 1; e < left; ++e)
        best = better<Largest>(best, first.at(e));
    return widen(best);
}

template <class In, bool Largest> struct VectorExtreme : Extreme<In, Largest> {
    using Acc = Vec16<In>;
    static __device__ Acc init() {
        return broadcast_vec16(Narrow<In>::from(worst<Largest>(In())));
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = better<Largest>(acc, best_chunk<N, Largest>(x));
    }
    static __device__ Wide<In> to_state(const Acc &acc) {
        return best_element<Largest>(acc);
    }
};
template <class In> struct VectorAccumulator<Min<In>, In> : VectorExtreme<In, false> {};
template <class In> struct VectorAccumulator<Max<In>, In> : VectorExtreme<In, true> {};

#if __CUDA_ARCH__ >= 800
// Unsigned keys in the order of `wins`: a better element has a larger key. `Bytes` are those of the element.
template <bool Largest, unsigned Bytes> __device__ uint32_t order_key(float x) {
    const uint32_t bits = __float_as_uint(x + 0.0f); // -0 equals 0
    const uint32_t key = bits >> 31 ? ~bits : bits | 0x80000000u;
    return x != x ? ~0u : Largest ? key : ~key;
}
template <bool Largest, unsigned Bytes> __device__ uint64_t order_key(double x) {
    const uint64_t bits = uint64_t(__double_as_longlong(x + 0.0));
    const uint64_t key = bits >> 63 ? ~bits : bits | 1ull << 63;
    return x != x ? ~0ull : Largest ? key : ~key;
}
template <bool Largest, unsigned Bytes, class T> __device__ auto order_key(T x) {
    using Key = typename Bits<(Bytes > 4 ? 8 : 4)>::type;
    const Key sign = T(-1) < T(0) ? Key(1) << (8 * sizeof(Key) - 1) : 0;
    return Largest ? Key(x) ^ sign : Key(~(Key(x) ^ sign));
}
// For grid/block_state.cuh: the best of a warp in the order of keys, then the first place that has it.
// Complex numbers have no key of up to 64 bits.
template <class In, bool Largest> struct ByKey {
    using State = ArgValue<Wide<In>>;
    static __device__ State reduce_warp(State x) {
        const auto key = x.position < 0 ? 0 : order_key<Largest, sizeof(In)>(x.value);
        const auto best = warp_max(key);
        // No place is -1, the last of all as an unsigned number.
        const uint64_t place = ~warp_max(key == best ? ~uint64_t(x.position) : 0);
        const unsigned owner = __ffs(__ballot_sync(0xffffffffu, uint64_t(x.position) == place)) - 1;
        return {shuffle_from(x.value, owner), int64_t(place)};
    }
};
template <bool Largest> struct ByKey<gr_c64, Largest> {};
template <bool Largest> struct ByKey<gr_c128, Largest> {};
#else
template <class In, bool Largest> struct ByKey {};
#endif

// Searches for the position only if a turn has a better element, which is rare after the first turns.
template <class In, bool Largest>
struct VectorArgExtreme : StateAccumulator<ArgExtreme<In, Largest>>, ByKey<In, Largest> {
    using State = ArgValue<Wide<In>>;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t first, uint64_t apart) {
        const Wide<In> best = best_element<Largest>(best_chunk<N, Largest>(x));
        if (acc.position >= 0 && !wins<Largest>(best, acc.value))
            return;
        uint32_t at = 0;
#pragma unroll
        for (unsigned i = N * Vec16<In>::length; i-- > 0;)
            if (!wins<Largest>(best, widen(element_of(x, i))))
                at = i;
        acc = {best, int64_t(first + at / Vec16<In>::length * apart + at % Vec16<In>::length)};
    }
};
template <class In> struct VectorAccumulator<ArgMin<In>, In> : VectorArgExtreme<In, false> {};
template <class In> struct VectorAccumulator<ArgMax<In>, In> : VectorArgExtreme<In, true> {};

// ---- tests and bits: words of several elements at a time where the dtype allows ----

// Bytes are tested four at a time; other elements one by one.
template <class F, class In> struct VectorTest : ByElement<F, In> {
    using State = typename F::State;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t first, uint64_t apart) {
        if constexpr (sizeof(In) == 1) {
#pragma unroll
            for (unsigned i = 0; i < 4 * N; ++i)
                acc = F::combine(acc, F::of_bytes(nonzero_bytes(word_of(x, i))));
        } else {
            ByElement<F, In>::template accumulate<N>(acc, x, first, apart);
        }
    }
};
template <class In> struct VectorAccumulator<Any<In>, In> : VectorTest<Any<In>, In> {};
template <class In> struct VectorAccumulator<All<In>, In> : VectorTest<All<In>, In> {};
template <class In> struct VectorAccumulator<CountNonzero<In>, In> : VectorTest<CountNonzero<In>, In> {};

// F's combine works bit by bit, so that it takes words of any elements.
template <template <class> class F, class In> struct VectorBits : F<In> {
    using State = typename F<In>::State;
    using Acc = Vec16<In>;
    using OfWords = F<uint32_t>;
    static __device__ Acc init() {
        Acc acc;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            acc.set_word(i, uint32_t(OfWords::identity()));
        return acc;
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
#pragma unroll
        for (unsigned i = 0; i < 4 * N; ++i)
            acc.set_word(i % 4, uint32_t(OfWords::combine(acc.word(i % 4), plain_word(In(), word_of(x, i)))));
    }
    static __device__ State to_state(const Acc &acc) {
        State s = F<In>::identity();
#pragma unroll
        for (unsigned e = 0; e < Vec16<In>::length; ++e)
            s = F<In>::combine(s, widen(acc.at(e)));
        return s;
    }
};
template <class In> struct VectorAccumulator<BitwiseAnd<In>, In> : VectorBits<BitwiseAnd, In> {};
template <class In> struct VectorAccumulator<BitwiseOr<In>, In> : VectorBits<BitwiseOr, In> {};
template <class In> struct VectorAccumulator<BitwiseXor<In>, In> : VectorBits<BitwiseXor, In> {};

} // namespace gr::reduce
