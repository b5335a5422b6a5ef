// The first four moments in one pass; see docs/explanation/variance.md. A State has the sums of the first
// four powers of the differences between elements and a point near their mean, and is moved from one point to
// another after P. Pebay, "Formulas for robust, one-pass parallel computation of covariances and
// arbitrary-order statistical moments" (Sandia report SAND2008-6212, 2008). These sums are the result, too:
// the host computes the moments about the mean from them.
#pragma once

#include "reduce/ops/variance.cuh"

namespace gr::reduce {

struct PowerSums {
    double count; // negative where a NaN was left out
    double shift, first, second, third, fourth;
};

// About another point, which comes in between `e` before the present one.
inline __device__ PowerSums moved(const PowerSums &s, double shift) {
    const double e = s.shift - shift, count = fabs(s.count);
    const double first = fma(count, e, s.first);
    const double second = fma(e, fma(count, e, 2 * s.first), s.second);
    const double third = fma(e, fma(e, fma(count, e, 3 * s.first), 3 * s.second), s.third);
    const double fourth =
        fma(e, fma(e, fma(e, fma(count, e, 4 * s.first), 6 * s.second), 4 * s.third), s.fourth);
    return {s.count, shift, first, second, third, fourth};
}

// About the nearer point of both to the mean.
inline __device__ PowerSums merge(PowerSums a, PowerSums b) {
    const double apart = b.shift - a.shift;
    const double sum_a = a.first + fma(fabs(b.count), apart, b.first);
    const double sum_b = b.first + fma(fabs(a.count), -apart, a.first);
    const double shift = fabs(sum_b) < fabs(sum_a) ? b.shift : a.shift;
    a = moved(a, shift);
    b = moved(b, shift);
    return {count_of(a.count, b.count), shift, a.first + b.first, a.second + b.second, a.third + b.third,
            a.fourth + b.fourth};
}

template <class In> struct Moments {
    using State = PowerSums;
    using Out = PowerSums;
    static __device__ State identity() {
        return {0, 0, 0, 0, 0, 0};
    }
    static __device__ State load(In x, uint64_t) {
        return append(identity(), x, 0);
    }
    static __device__ State append(State s, In x, uint64_t) {
        const double value = double(widen(x));
        const bool is_nan = is_floating<In> && value != value;
        if (__double2hiint(s.count) << 12 == 0) { // 0, or a power of two, as in reduce/ops/variance.cuh
            if (s.count == 0)
                s.shift = value - value == 0 ? value : 0.0;
            else if (is_far(fabs(s.count), s.first, s.second))
                s = moved(s, s.shift + s.first / fabs(s.count));
        }
        const double apart = is_nan ? 0.0 : value - s.shift, square = apart * apart;
        return {count_one(s.count, is_nan),
                s.shift,
                s.first + apart,
                s.second + square,
                fma(square, apart, s.third),
                fma(square, square, s.fourth)};
    }
    // See reduce/general/masked_pieces.cuh: about the mean of the elements that are taken.
    static constexpr bool has_of_some = true;
    template <unsigned N> static __device__ bool of_some(State &s, const In (&x)[N], const bool (&taken)[N]) {
        bool counts[N], has_nan = false;
        unsigned count = 0;
        double total = 0;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const auto value = widen(x[k]);
            counts[k] = taken[k] & (value == value);
            has_nan |= taken[k] & (value != value);
            count += counts[k];
            total += counts[k] ? double(value) : 0.0;
        }
        const double shift = total / (count > 0 ? count : 1);
        s = {with_sign(count, has_nan), shift, 0, 0, 0, 0};
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            const double apart = counts[k] ? double(widen(x[k])) - shift : 0.0, square = apart * apart;
            s.first += apart;
            s.second += square;
            s.third = fma(square, apart, s.third);
            s.fourth = fma(square, square, s.fourth);
        }
        return isfinite(shift);
    }
    static __device__ State combine(const State &a, const State &b) {
        return merge(a, b);
    }
    static __device__ Out finish(const State &s, uint64_t) {
        return s;
    }
};

// The chunks of one turn make a State about the mean of the first elements of each.
template <class In> struct VectorAccumulator<Moments<In>, In> : StateAccumulator<Moments<In>> {
    using State = PowerSums;
    template <unsigned N> static __device__ State of(const Vec16<In> *x) {
        constexpr unsigned length = Vec16<In>::length, count = N * length;
        double values[count];
#pragma unroll
        for (unsigned i = 0; i < count; ++i)
            values[i] = double(widen(element_of(x, i)));
        State turn = {0, tree_sum<N>([&](unsigned k) { return values[k * length]; }) / N, 0, 0, 0, 0};
        bool has_nan = false;
        if (is_floating<In> && !isfinite(turn.shift)) {
            turn.shift = 0;
#pragma unroll
            for (unsigned i = 0; i < count; ++i)
                turn.shift = isfinite(values[i]) ? values[i] : turn.shift;
        }
#pragma unroll
        for (unsigned i = 0; i < count; ++i) {
            const bool is_nan = is_floating<In> && values[i] != values[i];
            const double apart = is_nan ? 0.0 : values[i] - turn.shift, square = apart * apart;
            has_nan |= is_nan;
            turn.count += is_nan ? 0.0 : 1.0;
            turn.first += apart;
            turn.second += square;
            turn.third = fma(square, apart, turn.third);
            turn.fourth = fma(square, square, turn.fourth);
        }
        turn.count = with_sign(turn.count, has_nan);
        return turn;
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        acc = merge(acc, of<N>(x));
    }
};

} // namespace gr::reduce
