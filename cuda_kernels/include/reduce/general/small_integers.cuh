// Batch accumulators of small integers, whose columns are added several to a 32-bit word, and of argmin and
// argmax, which compare a few elements before their State. See words.cuh and general.cuh.
#pragma once

#include <type_traits>

#include "ops/ordering.cuh"
#include "reduce/general/tiles.cuh"
#include "reduce/general/words.cuh"

namespace gr::reduce {

using namespace ops;

// For integers of up to 16 bits; sums of all elements in flight fit 32 bits.
template <class In>
constexpr bool is_brief = sizeof(In) <= 2 &&
                          (std::is_integral<In>::value || std::is_same<In, gr_bool>::value);
template <class In> struct BriefInteger {
    static constexpr bool there = is_brief<In>, packs = false;
    using T = typename std::conditional<std::is_signed<Wide<In>>::value, int32_t, uint32_t>::type;
    static __device__ T of(In x) {
        return T(widen(x));
    }
};
template <class In> struct BriefSum : BriefInteger<In> {
    using T = typename BriefInteger<In>::T;
    static __device__ T both(T a, T b) {
        return a + b;
    }
};

// Sums of bytes: words of four are split into two words of two shorts each, offset so that they start at 0;
// 16 rows fit.
template <class In> struct PackedSum {
    static constexpr bool there = true, packs = true;
    static constexpr uint32_t from = std::is_signed<Wide<In>>::value ? 0x80808080u : 0; // counts as 0
    template <class State, unsigned Width, class Loaded, unsigned N>
    static __device__ void take(State (&s)[Width], const Loaded (&loaded)[N], const bool (&there)[N]) {
        static_assert(N <= 16, "more would not fit");
#pragma unroll
        for (unsigned i = 0; i < Width / 4; ++i) {
            uint32_t even = 0, odd = 0, rows = 0;
#pragma unroll
            for (unsigned j = 0; j < N; ++j) {
                const uint32_t word = there[j] ? word_of(loaded[j], i) ^ from : 0;
                rows += there[j];
                even += word & 0x00ff00ffu;
                odd += word >> 8 & 0x00ff00ffu;
            }
            const int32_t less = from ? int32_t(rows * 128) : 0;
            s[4 * i] = plus(s[4 * i], State(int32_t(even & 0xffff) - less));
            s[4 * i + 1] = plus(s[4 * i + 1], State(int32_t(odd & 0xffff) - less));
            s[4 * i + 2] = plus(s[4 * i + 2], State(int32_t(even >> 16) - less));
            s[4 * i + 3] = plus(s[4 * i + 3], State(int32_t(odd >> 16) - less));
        }
    }
};
// Counts of true elements, four in a word.
template <> struct PackedSum<gr_bool> {
    static constexpr bool there = true, packs = true;
    template <class State, unsigned Width, class Loaded, unsigned N>
    static __device__ void take(State (&s)[Width], const Loaded (&loaded)[N], const bool (&there)[N]) {
        static_assert(N < 256, "more would not fit");
#pragma unroll
        for (unsigned i = 0; i < Width / 4; ++i) {
            uint32_t sum = 0;
#pragma unroll
            for (unsigned j = 0; j < N; ++j)
                sum += there[j] ? plain_word(gr_bool(), word_of(loaded[j], i)) : 0;
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                s[4 * i + e] = plus(s[4 * i + e], State(sum >> 8 * e & 0xff));
        }
    }
};
template <class In>
struct ColumnSum : std::conditional<sizeof(In) == 1, PackedSum<In>, BriefSum<In>>::type {};

template <class In, bool Largest> struct PackedExtreme : BriefInteger<In> {
    using T = typename BriefInteger<In>::T;
    static __device__ T both(T a, T b) {
        return (a < b) == Largest ? b : a;
    }
};
template <class In> struct PackedBatch<Sum<In>, In> : ColumnSum<In> {};
template <class In> struct PackedBatch<Mean<In>, In> : ColumnSum<In> {};
template <class In> struct PackedBatch<Max<In>, In> : PackedExtreme<In, true> {};
template <class In> struct PackedBatch<Min<In>, In> : PackedExtreme<In, false> {};

// Sums of a few 32-bit integers fit 64 bits, before they are added to a State of 128 bits.
template <class F, class In> struct BatchSum {
    static constexpr bool there = true, contest = false;
    using State = typename F::State;
    template <unsigned N, class Each, class There>
    static __device__ State add(State s, const Each &x, const There &there, uint64_t, uint64_t) {
        Wide<In> sum = widen(x(0));
#pragma unroll
        for (unsigned j = 1; j < N; ++j)
            sum += there(j) ? widen(x(j)) : 0;
        return plus(s, Convert<State, Wide<In>>::to(sum));
    }
};
template <> struct BatchAccumulator<Mean<int32_t>, int32_t> : BatchSum<Mean<int32_t>, int32_t> {};
template <> struct BatchAccumulator<Mean<uint32_t>, uint32_t> : BatchSum<Mean<uint32_t>, uint32_t> {};

// Sums of a tile without their conversion to 128 bits.
template <class Of, class In> struct TileSum {
    using State = ThreadSum<In>;
    using Out = typename Of::Out;
    static __device__ State identity() {
        return State::none();
    }
    static __device__ State load(In x, uint64_t) {
        State s = State::none();
        s.add(widen(x));
        return s;
    }
    static __device__ State combine(State a, State b) {
        a.add(b);
        return a;
    }
    static __device__ Out finish(State s, uint64_t count) {
        return Of::finish(s.state(), count);
    }
};
template <> struct TileFunctor<Mean<int32_t>, int32_t> { using type = TileSum<Mean<int32_t>, int32_t>; };
template <> struct TileFunctor<Mean<uint32_t>, uint32_t> { using type = TileSum<Mean<uint32_t>, uint32_t>; };
template <> struct TileFunctor<Mean<int64_t>, int64_t> { using type = TileSum<Mean<int64_t>, int64_t>; };
template <> struct TileFunctor<Mean<uint64_t>, uint64_t> { using type = TileSum<Mean<uint64_t>, uint64_t>; };

// Integers of up to four bytes are compared as such.
template <class In>
using Compared = typename std::conditional<
    !std::is_integral<Wide<In>>::value || (sizeof(In) > 4), Wide<In>,
    typename std::conditional<std::is_signed<Wide<In>>::value, int32_t, uint32_t>::type>::type;

// The best of a few elements is found with positions of 32 bits before it is combined with the State.
//   T                   what an element is compared as
//   of(x), wins(a, b)   the T of an element, and whether `a` is better than `b`
//   win(s, best, place) `s` after the best of later elements
template <class F, class In, bool Largest> struct ArgBatch {
    static constexpr bool there = true, contest = true;
    using T = Compared<In>;
    using State = typename F::State;
    static __device__ T of(In x) {
        return T(widen(x));
    }
    static __device__ bool wins(T a, T b) {
        return ::wins<Largest>(a, b);
    }
    static __device__ State win(State s, T best, uint64_t place) {
        return s.position < 0 || wins(best, T(s.value)) ? State{Wide<In>(best), int64_t(place)} : s;
    }
    template <unsigned N, class Each, class There>
    static __device__ State add(State s, const Each &x, const There &there, uint64_t first, uint64_t apart) {
        T best = of(x(0));
        unsigned at = 0;
#pragma unroll
        for (unsigned j = 1; j < N; ++j) {
            const T other = of(x(j));
            const bool better = there(j) && wins(other, best);
            best = better ? other : best;
            at = better ? j : at;
        }
        return win(s, best, first + at * apart);
    }
};
template <class In> struct BatchAccumulator<ArgMax<In>, In> : ArgBatch<ArgMax<In>, In, true> {};
template <class In> struct BatchAccumulator<ArgMin<In>, In> : ArgBatch<ArgMin<In>, In, false> {};

} // namespace gr::reduce
