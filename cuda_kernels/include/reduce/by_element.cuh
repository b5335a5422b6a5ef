// How a functor without a way of its own takes chunks in; see reduce/accumulate.cuh.
#pragma once

#include "common/vec16.cuh"

// For functors whose Acc is their State.
template <class State> struct KeepsState {
    using Acc = State;
    static __device__ State close(Acc acc) {
        return acc;
    }
};

// One element after the other: right for every functor.
template <class F, class In> struct ByElement : F, KeepsState<typename F::State> {
    using State = typename F::State;
    static __device__ State open() {
        return F::identity();
    }
    template <unsigned N>
    static __device__ void absorb(State &acc, const Chunk<In> *x, uint64_t first, uint64_t apart) {
        State s[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            s[k] = F::load(x[k].at(0), first + k * apart);
#pragma unroll
            for (unsigned e = 1; e < Chunk<In>::length; ++e)
                s[k] = F::combine(s[k], F::load(x[k].at(e), first + k * apart + e));
        }
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            acc = F::combine(acc, s[k]);
    }
};
