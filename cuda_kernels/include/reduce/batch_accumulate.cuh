// Batch accumulators of the general kernels: several elements of one result that a thread has loaded are
// taken in together, where that needs fewer instructions than one after the other.
#pragma once

namespace gr::reduce {

// A specialization has
//   add<N>(s, x, there, first, apart)
//       takes into the State `s` those x(j), j < N, for which there(j) is true. there(0) is. The position of
//       x(j) is first + j * apart.
//   contest
//       whether it keeps the position of the best element, see reduce/general/small_integers.cuh.
// A thread may have several results, with the same number of elements each. For these there may be
//   in_flight
//       how many elements of each result a thread of general_columns has in flight, if that is told.
//   ThreadState, init()
//       what a thread keeps of a result, and its start.
//   take<N>(kept, rows, x, there)
//       takes N elements into it, behind `rows` others.
//   to_state(kept, rows)
//       its State.
template <class F, class In> struct BatchAccumulator {
    static constexpr bool there = false, contest = false;
};

// What general_columns and general_spread keep of each result.
template <class F, class In, class = void> struct BatchState {
    static constexpr bool there = false;
    using ThreadState = typename F::State;
    static __device__ ThreadState init() {
        return F::identity();
    }
    static __device__ ThreadState to_state(const ThreadState &kept, uint64_t) {
        return kept;
    }
};
template <class F, class In>
struct BatchState<F, In, decltype(void(&BatchAccumulator<F, In>::to_state))> : BatchAccumulator<F, In> {};

} // namespace gr::reduce
