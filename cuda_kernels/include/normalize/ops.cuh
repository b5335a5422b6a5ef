// The functions of ops.def. A functor reduces the elements of a tile to a State, combines the States of
// tiles, and computes the results from the State of the row.
//
// `x` are the elements of a thread, of which those behind the end of the row are `fill`; element x.at(i) has
// the index index(i) in the tile, whose first `count` elements are in the row. AS_NUMBERS: see Elements in
// rows.cuh.
#pragma once

#include <cuda/std/limits>

#include "normalize/block_sum.cuh"
#include "normalize/exponential.cuh"
#include "normalize/tile.cuh"

namespace gr::normalize {

template <class Acc> struct RowArguments { Acc inverse_length, eps; };

// The sum of N values, of which add_to(sum, i) adds value i to a sum. Four partial sums shorten the chain of
// dependent additions.
template <class Acc, unsigned N, class AddTo> __device__ Acc add_up(const AddTo &add_to) {
    Acc sums[4] = {};
#pragma unroll
    for (unsigned i = 0; i < N; ++i)
        sums[i % 4] = add_to(sums[i % 4], i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Softmax and log_softmax have the same State: the maximum, and the sum of exponentials relative to it. KEEP:
// the exponentials replace the elements.
template <class In, bool AS_NUMBERS, bool KEEP> struct Exponentials {
    static constexpr bool as_numbers = AS_NUMBERS, replaces = KEEP;
    using Acc = AccumulatorOf<In>;
    struct State {
        Acc max, sum;
    };
    static constexpr bool takes_weight = false, takes_bias = false, takes_residual = false;
    static __device__ Acc fill() {
        return -INFINITY;
    }
    // Of elements that are all -inf, each exponential is 0.
    static __device__ Acc finite(Acc max) {
        return max == -INFINITY ? Acc(0) : max;
    }
    template <unsigned N, class Elements, class Index>
    static __device__ State reduce(Elements &x, Index, unsigned, RowReducer<Acc> &row) {
        Acc most[4] = {x.at(0), x.at(1 % N), x.at(2 % N), x.at(3 % N)};
#pragma unroll
        for (unsigned i = 4; i < N; ++i)
            most[i % 4] = max_of(most[i % 4], x.at(i));
        const Acc max = row.max(max_of(max_of(most[0], most[1]), max_of(most[2], most[3])));
        const Acc from = finite(max);
        x.forget();
        const Acc sum = add_up<Acc, N>([&](Acc sum, unsigned i) {
            const Acc e = exp_for<In>(x.at(i) - from);
            if constexpr (KEEP)
                x.replace(i, e);
            return sum + e;
        });
        return {max, row.sum(sum)};
    }
    // What replaces an element of a tile.
    static __device__ Acc replacement(Acc x, const State &tile) {
        return exp_for<In>(x - finite(tile.max));
    }
    static __device__ State identity() {
        return {-INFINITY, 0};
    }
    static __device__ State combine(State a, State b) {
        const Acc max = max_of(a.max, b.max), from = finite(max);
        return {max, a.sum * exp_of(a.max - from) + b.sum * exp_of(b.max - from)};
    }
};

// With numbers, the exponentials of a tile are kept.
template <class In, bool AS_NUMBERS> struct Softmax : Exponentials<In, AS_NUMBERS, AS_NUMBERS> {
    using Acc = AccumulatorOf<In>;
    using State = typename Exponentials<In, AS_NUMBERS, AS_NUMBERS>::State;
    Acc max, scale;

    __device__ Softmax(State s, const RowArguments<Acc> &) : max(s.max), scale(Acc(1) / s.sum) {
        if (s.max == -INFINITY)
            scale = NAN;
    }
    // The functor of a tile, whose exponentials are relative to its own maximum.
    __device__ Softmax of_tile(State tile) const {
        Softmax f = *this;
        f.scale *= exp_of(tile.max - max);
        return f;
    }
    __device__ Acc result(Acc x) const {
        return (AS_NUMBERS ? x : exp_for<In>(x - max)) * scale;
    }
};

template <class In, bool AS_NUMBERS> struct LogSoftmax : Exponentials<In, AS_NUMBERS, false> {
    using Acc = AccumulatorOf<In>;
    using State = typename Exponentials<In, AS_NUMBERS, false>::State;
    Acc max, log_sum;

    __device__ LogSoftmax(State s, const RowArguments<Acc> &) : max(s.max), log_sum(log_of(s.sum)) {
    }
    __device__ Acc result(Acc x) const {
        return x - max - log_sum;
    }
};

template <class In, bool AS_NUMBERS> struct RmsNorm {
    static constexpr bool as_numbers = AS_NUMBERS, replaces = false;
    using Acc = AccumulatorOf<In>;
    struct State {
        Acc squares;
    };
    static constexpr bool takes_weight = true, takes_bias = false, takes_residual = true;
    Acc scale;

    static __device__ Acc fill() {
        return 0;
    }
    template <unsigned N, class Elements, class Index>
    static __device__ State reduce(Elements &x, Index, unsigned, RowReducer<Acc> &row) {
        return {row.sum(
            add_up<Acc, N>([&](Acc sum, unsigned i) { return multiply_add(x.at(i), x.at(i), sum); }))};
    }
    static __device__ State identity() {
        return {0};
    }
    static __device__ State combine(State a, State b) {
        return {a.squares + b.squares};
    }
    __device__ RmsNorm(State s, const RowArguments<Acc> &of)
        : scale(Acc(1) / sqrt(multiply_add(s.squares, of.inverse_length, of.eps))) {
    }
    __device__ Acc result(Acc x) const {
        return x * scale;
    }
};

template <class In, bool AS_NUMBERS> struct LayerNorm {
    static constexpr bool as_numbers = AS_NUMBERS, replaces = false;
    using Acc = AccumulatorOf<In>;
    struct State {
        Acc count, mean, squares; // of the differences from the mean
    };
    static constexpr bool takes_weight = true, takes_bias = true, takes_residual = false;
    Acc mean, scale;

    static __device__ Acc fill() {
        return 0;
    }
    template <unsigned N, class Elements, class Index>
    static __device__ State reduce(Elements &x, Index index, unsigned count, RowReducer<Acc> &row) {
        const Acc mean =
            row.sum(add_up<Acc, N>([&](Acc sum, unsigned i) { return sum + x.at(i); })) / Acc(count);
        x.forget();
        const auto square = [&](Acc sum, unsigned i) {
            const Acc difference = x.at(i) - mean;
            return multiply_add(difference, difference, sum);
        };
        Acc squares;
        if (index(N - 1) < count)
            squares = add_up<Acc, N>(square);
        else // only some of the elements are in the row
            squares =
                add_up<Acc, N>([&](Acc sum, unsigned i) { return index(i) < count ? square(sum, i) : sum; });
        return {Acc(count), mean, row.sum(squares)};
    }
    static __device__ State identity() {
        return {0, 0, 0};
    }
    // Chan, Golub and LeVeque.
    static __device__ State combine(State a, State b) {
        const Acc count = a.count + b.count, part = count == 0 ? Acc(0) : b.count / count;
        const Acc difference = b.mean - a.mean;
        return {count, a.mean + difference * part,
                a.squares + b.squares + difference * difference * (a.count * part)};
    }
    __device__ LayerNorm(State s, const RowArguments<Acc> &of)
        : mean(s.mean), scale(Acc(1) / sqrt(multiply_add(s.squares, of.inverse_length, of.eps))) {
    }
    __device__ Acc result(Acc x) const {
        return (x - mean) * scale;
    }
};

} // namespace gr::normalize
