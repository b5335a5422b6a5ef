// What columns of small integers are combined in a few at a time; see general_words.cuh.
#pragma once

#include <type_traits>

#include "general_words.cuh"
#include "ordering.cuh"

// For integers of up to 16 bits; sums of as many as are in flight fit 32.
template <class In>
constexpr bool is_brief = sizeof(In) <= 2 &&
                          (std::is_integral<In>::value || std::is_same<In, gr_bool>::value);
template <class In> struct BriefInteger {
    static constexpr bool there = is_brief<In>;
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
template <class In, bool Largest> struct BriefExtreme : BriefInteger<In> {
    using T = typename BriefInteger<In>::T;
    static __device__ T both(T a, T b) {
        return (a < b) == Largest ? b : a;
    }
};
template <class In> struct Brief<Sum<In>, In> : BriefSum<In> {};
template <class In> struct Brief<Mean<In>, In> : BriefSum<In> {};
template <class In> struct Brief<Max<In>, In> : BriefExtreme<In, true> {};
template <class In> struct Brief<Min<In>, In> : BriefExtreme<In, false> {};
