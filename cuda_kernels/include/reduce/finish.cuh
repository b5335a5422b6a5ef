// From the State of all elements to a result, for the flat kernels and the general ones.
#pragma once

#include <cstdint>

namespace gr::reduce {

template <class F, class = void> constexpr bool has_start = false;
template <class F> constexpr bool has_start<F, decltype(void(&F::start))> = true;
template <class F, class = void> constexpr bool finishes_by_flags = false;
template <class F>
constexpr bool finishes_by_flags<F, decltype(void(F::finish(F::identity(), uint64_t(), uint32_t())))> = true;

// The State of an initial value; of no elements where the operator has no initial value.
template <class F> __device__ typename F::State start_state(typename F::Out initial) {
    if constexpr (has_start<F>)
        return F::start(initial);
    else
        return F::identity();
}

// Calls `finish` with the flags of the launch where it takes them.
template <class F>
__device__ typename F::Out finished(typename F::State s, uint64_t parameter, uint32_t flags) {
    if constexpr (finishes_by_flags<F>)
        return F::finish(s, parameter, flags);
    else
        return F::finish(s, parameter);
}

} // namespace gr::reduce
