// What the general kernels, those behind variant="auto" for any layout, have in common.
#pragma once

#include "block_state.cuh"
#include "chunk.cuh"
#include "reduce/general/params.h"

// The result that a State of all its elements stands for.
template <class F> __device__ typename F::Out finished(const gr_general_params &p, typename F::State s) {
    if (p.flags & GR_HAS_INITIAL)
        s = F::combine(F::start(*reinterpret_cast<const typename F::Out *>(p.initial)), s);
    return F::finish(s, p.divisor);
}

// Writes State or result number `index`.
template <class F> __device__ void put(const gr_general_params &p, uint64_t index, typename F::State s) {
    if (p.flags & GR_FINAL)
        reinterpret_cast<typename F::Out *>(p.out)[index] = finished<F>(p, s);
    else
        reinterpret_cast<typename F::State *>(p.out)[index] = s;
}
