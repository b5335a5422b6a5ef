// What columns of integers are combined in a few at a time; see general_columns.cuh.
#pragma once

#include "general_columns.cuh"
#include "ordering.cuh"

template <class In> struct AsInteger { using type = int32_t; };
template <> struct AsInteger<gr_bool> { using type = uint32_t; };
template <> struct AsInteger<uint8_t> { using type = uint32_t; };
template <> struct AsInteger<uint16_t> { using type = uint32_t; };
template <> struct AsInteger<uint32_t> { using type = uint32_t; };

template <class F, class In> struct BriefInteger {
    static constexpr bool there = true;
    using T = typename AsInteger<In>::type;
    static __device__ T of(In x) {
        return T(widen(x));
    }
    static __device__ typename F::State to(T t) {
        return typename F::State(t);
    }
};
template <class F, class In> struct BriefSum : BriefInteger<F, In> {
    using T = typename AsInteger<In>::type;
    static __device__ T both(T a, T b) {
        return a + b;
    }
};
template <class F, class In, bool Largest> struct BriefExtreme : BriefInteger<F, In> {
    using T = typename AsInteger<In>::type;
    static __device__ T both(T a, T b) {
        return (a < b) == Largest ? b : a;
    }
};

// Sums of as many elements as are in flight fit 32 bits.
#define GR_BRIEF_SUM(In)                                                                                     \
    template <> struct Brief<Sum<In>, In> : BriefSum<Sum<In>, In> {};                                        \
    template <> struct Brief<Mean<In>, In> : BriefSum<Mean<In>, In> {};
#define GR_BRIEF_EXTREME(In)                                                                                 \
    template <> struct Brief<Max<In>, In> : BriefExtreme<Max<In>, In, true> {};                              \
    template <> struct Brief<Min<In>, In> : BriefExtreme<Min<In>, In, false> {};
GR_BRIEF_SUM(gr_bool)
GR_BRIEF_SUM(int8_t)
GR_BRIEF_SUM(uint8_t)
GR_BRIEF_SUM(int16_t)
GR_BRIEF_SUM(uint16_t)
GR_BRIEF_EXTREME(int8_t)
GR_BRIEF_EXTREME(uint8_t)
GR_BRIEF_EXTREME(int16_t)
GR_BRIEF_EXTREME(uint16_t)
GR_BRIEF_EXTREME(int32_t)
GR_BRIEF_EXTREME(uint32_t)
#undef GR_BRIEF_SUM
#undef GR_BRIEF_EXTREME
