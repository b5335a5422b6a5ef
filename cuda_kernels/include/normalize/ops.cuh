// The functions of ops.def. A functor reduces the elements of a tile to a State, combines the States of
// tiles, and computes the results from the State of the row.
//
// `x` are the elements of a thread, of which those behind the end of the row are `fill`; element i of x has
// the index index(i) in the tile, whose first `count` elements are in the row.
#pragma once

#include <cuda/std/limits>

#include "normalize/block_sum.cuh"
#include "normalize/exponential.cuh"

namespace gr::normalize {

template <class Acc> struct RowArguments { Acc length, eps; };

// Softmax and log_softmax have the same State: the maximum, and the sum of exponentials relative to it.
template <class Acc> struct Exponentials {
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
    // Replaces the elements by their exponentials if `KEEP`.
    template <bool KEEP, unsigned N, class Index>
    static __device__ State reduce(Acc (&x)[N], Index, unsigned, RowReducer<Acc> &row) {
        Acc max = x[0];
#pragma unroll
        for (unsigned i = 1; i < N; ++i)
            max = max_of(max, x[i]);
        max = row.max(max);
        const Acc from = finite(max);
        Acc sum = 0;
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
            const Acc e = exp_of(x[i] - from);
            sum += e;
            if (KEEP)
                x[i] = e;
        }
        return {max, row.sum(sum)};
    }
    static __device__ State combine(State a, State b) {
        const Acc max = max_of(a.max, b.max), from = finite(max);
        return {max, a.sum * exp_of(a.max - from) + b.sum * exp_of(b.max - from)};
    }
};

template <class Acc> struct Softmax : Exponentials<Acc> {
    using State = typename Exponentials<Acc>::State;
    static constexpr bool keeps = true; // the exponentials of a row that is one tile
    Acc max, scale;

    __device__ Softmax(State s, const RowArguments<Acc> &) : max(s.max), scale(Acc(1) / s.sum) {
        if (s.max == -INFINITY)
            scale = NAN;
    }
    template <bool KEPT> __device__ Acc result(Acc x) const {
        return (KEPT ? x : exp_of(x - max)) * scale;
    }
};

template <class Acc> struct LogSoftmax : Exponentials<Acc> {
    using State = typename Exponentials<Acc>::State;
    static constexpr bool keeps = false;
    Acc max, log_sum;

    __device__ LogSoftmax(State s, const RowArguments<Acc> &) : max(s.max), log_sum(log_of(s.sum)) {
    }
    template <bool> __device__ Acc result(Acc x) const {
        return x - max - log_sum;
    }
};

template <class Acc> struct RmsNorm {
    struct State {
        Acc squares;
    };
    static constexpr bool takes_weight = true, takes_bias = false, takes_residual = true, keeps = false;
    Acc scale;

    static __device__ Acc fill() {
        return 0;
    }
    template <bool, unsigned N, class Index>
    static __device__ State reduce(Acc (&x)[N], Index, unsigned, RowReducer<Acc> &row) {
        Acc sum = 0;
#pragma unroll
        for (unsigned i = 0; i < N; ++i)
            sum += x[i] * x[i];
        return {row.sum(sum)};
    }
    static __device__ State combine(State a, State b) {
        return {a.squares + b.squares};
    }
    __device__ RmsNorm(State s, const RowArguments<Acc> &of)
        : scale(Acc(1) / sqrt(s.squares / of.length + of.eps)) {
    }
    template <bool> __device__ Acc result(Acc x) const {
        return x * scale;
    }
};

template <class Acc> struct LayerNorm {
    struct State {
        Acc count, mean, squares; // of the differences from the mean
    };
    static constexpr bool takes_weight = true, takes_bias = true, takes_residual = false, keeps = false;
    Acc mean, scale;

    static __device__ Acc fill() {
        return 0;
    }
    template <bool, unsigned N, class Index>
    static __device__ State reduce(Acc (&x)[N], Index index, unsigned count, RowReducer<Acc> &row) {
        Acc sum = 0;
#pragma unroll
        for (unsigned i = 0; i < N; ++i)
            sum += x[i];
        const Acc mean = row.sum(sum) / Acc(count);
        Acc squares = 0;
#pragma unroll
        for (unsigned i = 0; i < N; ++i) {
            const Acc difference = index(i) < count ? x[i] - mean : Acc(0);
            squares += difference * difference;
        }
        return {Acc(count), mean, row.sum(squares)};
    }
    // Chan, Golub and LeVeque.
    static __device__ State combine(State a, State b) {
        const Acc count = a.count + b.count, part = b.count / count, difference = b.mean - a.mean;
        return {count, a.mean + difference * part,
                a.squares + b.squares + difference * difference * (a.count * part)};
    }
    __device__ LayerNorm(State s, const RowArguments<Acc> &of)
        : mean(s.mean), scale(Acc(1) / sqrt(s.squares / of.length + of.eps)) {
    }
    template <bool> __device__ Acc result(Acc x) const {
        return (x - mean) * scale;
    }
};

} // namespace gr::normalize
