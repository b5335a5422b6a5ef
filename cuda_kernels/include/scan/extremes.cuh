// Running maxima and minima: results have the dtype of the elements, NaN propagates, and of equal elements
// the first one is kept.
#pragma once

#include "ops/ordering.cuh"
#include "scan/scan.cuh"

namespace gr::scan {

template <class T, bool largest> struct RunningExtreme {
    static constexpr bool widens = false, ordered = false;
    using Out = T;
    using State = Wide<T>;
    static __device__ State identity() {
        return worst<largest>(State());
    }
    static __device__ State load(T x) {
        return widen(x);
    }
    static __device__ T finish(State s) {
        return Narrow<T>::from(s);
    }
    static __device__ State combine(State a, State b) {
        return wins<largest>(b, a) ? b : a;
    }
};

template <class T> using RunningMax = RunningExtreme<T, true>;
template <class T> using RunningMin = RunningExtreme<T, false>;

#define GR_EXTREME_ENTRIES(op, Running)                                                                      \
    GR_SCAN_ENTRY(op, f32, Running<float>)                                                                   \
    GR_SCAN_ENTRY(op, f64, Running<double>)                                                                  \
    GR_SCAN_ENTRY(op, f16, Running<gr_f16>)                                                                  \
    GR_SCAN_ENTRY(op, bf16, Running<gr_bf16>)                                                                \
    GR_SCAN_ENTRY(op, i8, Running<int8_t>)                                                                   \
    GR_SCAN_ENTRY(op, i16, Running<int16_t>)                                                                 \
    GR_SCAN_ENTRY(op, i32, Running<int32_t>)                                                                 \
    GR_SCAN_ENTRY(op, i64, Running<int64_t>)                                                                 \
    GR_SCAN_ENTRY(op, u8, Running<uint8_t>)                                                                  \
    GR_SCAN_ENTRY(op, u16, Running<uint16_t>)                                                                \
    GR_SCAN_ENTRY(op, u32, Running<uint32_t>)                                                                \
    GR_SCAN_ENTRY(op, u64, Running<uint64_t>)

} // namespace gr::scan
