// Variances of integers of up to four bytes: a State has the number of elements, their sum and the sum of
// their squares, as signed integers and exactly, so that any order is right. The variance is their only
// rounding.
#pragma once

#include "reduce/ops/variance_sums.cuh"

namespace gr::reduce {

// An element; of a dtype without sign, less the middle of its numbers.
template <class In> __device__ int32_t centred_value(In x) {
    constexpr uint32_t middle = std::is_same<In, uint16_t>::value   ? 1u << 15
                                : std::is_same<In, uint32_t>::value ? 1u << 31
                                                                    : 0;
    return int32_t(uint32_t(widen(x)) - middle);
}

inline __device__ Int128 square_of(int64_t x) {
    const uint64_t magnitude = magnitude_of(x);
    return times_wide(magnitude, magnitude);
}

// The variance of exact sums: (count * squares - sum^2) / (count * (count - ddof)), rounded once, if there
// are fewer than 2^32 elements and `ddof` is an integer. Otherwise the sum of squares about the mean is
// rounded.
template <class Sums> __device__ double exact_variance(const Sums &s, uint64_t ddof, uint32_t flags) {
    const double count = double(s.count), left = count - __longlong_as_double(int64_t(ddof));
    if (s.count >> 32 != 0 || !(left >= 1 && left < 0x1p32) || left != rint(left))
        return variance<double>(s.about_mean(), count, false, ddof, flags);
    const double quotient = s.quotient(s.count * uint64_t(left));
    return flags & GR_FINISH_ROOT ? sqrt(quotient) : quotient;
}

// ---- of up to two bytes, and up to 2^33 elements ----

struct IntegerSums {
    uint64_t count;
    int64_t sum;
    uint64_t squares;

    __device__ Int128 apart() const {
        return minus(times_wide(count, squares), square_of(sum));
    }
    __device__ double quotient(uint64_t by) const {
        return quotient_of(apart(), by);
    }
    __device__ double about_mean() const {
        return to_double(apart()) / double(count);
    }
};

template <class In> struct VarOfIntegers {
    using State = IntegerSums;
    using Out = double;
    static __device__ State identity() {
        return {0, 0, 0};
    }
    static __device__ State load(In x, uint64_t) {
        const int32_t value = centred_value(x);
        return {1, value, uint32_t(value * value)};
    }
    static __device__ State combine(State a, State b) {
        return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
    }
    static __device__ Out finish(State s, uint64_t ddof, uint32_t flags) {
        return exact_variance(s, ddof, flags);
    }
    static __device__ Out of_one(In, uint64_t ddof, uint32_t flags) {
        return variance<Out>(0.0, 1.0, false, ddof, flags);
    }
};

template <class In> struct VectorVarOfIntegers : StateAccumulator<VarOfIntegers<In>> {
    using F = VarOfIntegers<In>;
    using State = IntegerSums;
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        if constexpr (sizeof(In) == 1) {
            uint32_t sum = 0, squares = 0; // fit: of at most 64 bytes
#pragma unroll
            for (unsigned i = 0; i < 4 * N; ++i) {
                const uint32_t word = word_of(x, i);
                sum = word_sum(In(), word, sum);
                squares = word_dot(In(), word, word, squares);
            }
            acc = F::combine(acc, {N * Vec16<In>::length, int32_t(sum), squares});
        } else {
#pragma unroll
            for (unsigned i = 0; i < N * Vec16<In>::length; ++i) {
                const State one = F::load(element_of(x, i), 0);
                acc.sum += one.sum;
                acc.squares += one.squares;
            }
            acc.count += N * Vec16<In>::length;
        }
    }
};

// ---- of four bytes: up to 2^63 elements ----

struct WideIntegerSums {
    uint64_t count;
    Int128 sum, squares;

    // Of fewer than 2^32 elements: |sum| < 2^63, count * squares < 2^126.
    __device__ double quotient(uint64_t by) const {
        const Int128 low = times_wide(count, squares.low);
        const Int128 all = {low.low, low.high + count * squares.high};
        return quotient_of(minus(all, square_of(int64_t(sum.low))), by);
    }
    // The sum of squares about the mean, of any number of elements. About the integer nearest to the mean
    // both sums are exact, and the sum of squares is at least twice what is subtracted from it.
    __device__ double about_mean() const {
        const double number = double(count);
        const int64_t point = __double2ll_rn(to_double(sum) / number);
        const Int128 rest = minus(sum, times_signed({count, 0}, point));
        // squares - 2 point sum + point^2 count
        const Int128 moved = minus(squares, times_signed(plus(sum, rest), point));
        const double total = to_double(rest);
        return fmax(0.0, to_double(moved) - total * (total / number));
    }
};

// What a thread adds up: fewer than 2^32 elements, in pairs, whose squares fit 64 bits.
struct ThreadIntegerSums {
    int64_t sum;
    Int128 squares;

    static __device__ ThreadIntegerSums none() {
        return {0, {0, 0}};
    }
    __device__ void add(int32_t a, int32_t b) {
        sum += int64_t(a) + b;
        squares = plus(squares, Int128{uint64_t(int64_t(a) * a) + uint64_t(int64_t(b) * b), 0});
    }
    __device__ WideIntegerSums of(uint64_t count) const {
        return {count, Convert<Int128, int64_t>::to(sum), squares};
    }
};

template <class In> struct VarOfWideIntegers {
    using State = WideIntegerSums;
    using Out = double;
    static __device__ State identity() {
        return ThreadIntegerSums::none().of(0);
    }
    static __device__ State load(In x, uint64_t) {
        ThreadIntegerSums one = ThreadIntegerSums::none();
        one.add(centred_value(x), 0);
        return one.of(1);
    }
    static __device__ State combine(const State &a, const State &b) {
        return {a.count + b.count, plus(a.sum, b.sum), plus(a.squares, b.squares)};
    }
    static __device__ Out finish(const State &s, uint64_t ddof, uint32_t flags) {
        return exact_variance(s, ddof, flags);
    }
    static __device__ Out of_one(In, uint64_t ddof, uint32_t flags) {
        return variance<Out>(0.0, 1.0, false, ddof, flags);
    }
};

template <class In> struct VectorVarOfWideIntegers : VarOfWideIntegers<In> {
    using State = WideIntegerSums;
    struct Acc {
        uint64_t count;
        ThreadIntegerSums sums;
    };
    static __device__ Acc init() {
        return {0, ThreadIntegerSums::none()};
    }
    template <unsigned N>
    static __device__ void accumulate(Acc &acc, const Vec16<In> *x, uint64_t, uint64_t) {
        constexpr unsigned count = N * Vec16<In>::length;
#pragma unroll
        for (unsigned i = 0; i < count; i += 2)
            acc.sums.add(centred_value(element_of(x, i)), centred_value(element_of(x, i + 1)));
        acc.count += count;
    }
    static constexpr bool in_rows = true;
    template <unsigned N> static __device__ void accumulate_in_row(Acc &acc, const Vec16<In> *x) {
        accumulate<N>(acc, x, 0, 0);
    }
    static __device__ State to_state(const Acc &acc) {
        return acc.sums.of(acc.count);
    }
};

// Several elements of a result in flight. A thread with several results keeps no counts.
template <class In> struct WideIntegersTogether {
    static constexpr bool there = true, contest = false;
    static constexpr unsigned in_flight = 8;
    using State = WideIntegerSums;
    using ThreadState = ThreadIntegerSums;
    static __device__ ThreadState init() {
        return ThreadState::none();
    }
    static __device__ State to_state(const ThreadState &kept, uint64_t rows) {
        return kept.of(rows);
    }
    template <unsigned N, class Each, class There>
    static __device__ void take(ThreadState &kept, uint32_t, const Each &x, const There &there) {
        static_assert(N % 2 == 0, "pairs");
#pragma unroll
        for (unsigned j = 0; j < N; j += 2)
            kept.add(there(j) ? centred_value(x(j)) : 0, there(j + 1) ? centred_value(x(j + 1)) : 0);
    }
    template <unsigned N, class Each, class There>
    static __device__ State add(const State &s, const Each &x, const There &there, uint64_t, uint64_t) {
        ThreadState sums = init();
        take<N>(sums, 0, x, there);
        unsigned rows = 0;
#pragma unroll
        for (unsigned j = 0; j < N; ++j)
            rows += there(j);
        return VarOfWideIntegers<In>::combine(s, sums.of(rows));
    }
};

} // namespace gr::reduce
