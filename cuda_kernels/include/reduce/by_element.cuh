// The thread accumulator of a functor that has none of its own: element after element. See accumulate.cuh.
#pragma once

#include "common/vec16.cuh"

namespace gr::reduce {

using namespace common;

// For functors whose Acc is their State.
template <class F> struct StateAccumulator : F {
    using State = typename F::State;
    using Acc = State;
    static __device__ State init() {
        return F::identity();
    }
    static __device__ State to_state(State acc) {
        return acc;
    }
};

// One element after the other: right for every functor.
template <class F, class In> struct ByElement : StateAccumulator<F> {
    using State = typename F::State;
    // Of N vectors alone, where positions do not count.
    template <unsigned N> static __device__ State of(const Vec16<In> *x) {
        State all;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            State s = F::load(x[k].at(0), 0);
#pragma unroll
            for (unsigned e = 1; e < Vec16<In>::length; ++e)
                s = F::combine(s, F::load(x[k].at(e), 0));
            all = k > 0 ? F::combine(all, s) : s;
        }
        return all;
    }
    template <unsigned N>
    static __device__ void accumulate(State &acc, const Vec16<In> *x, uint64_t first, uint64_t apart) {
        State s[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            s[k] = F::load(x[k].at(0), first + k * apart);
#pragma unroll
            for (unsigned e = 1; e < Vec16<In>::length; ++e)
                s[k] = F::combine(s[k], F::load(x[k].at(e), first + k * apart + e));
        }
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            acc = F::combine(acc, s[k]);
    }
};

} // namespace gr::reduce
