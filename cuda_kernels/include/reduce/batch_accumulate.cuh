// Batch accumulators of the general kernels: several elements of one result that a thread has loaded are
// taken in together, where that needs fewer instructions than one after the other.
#pragma once

//   add<N>(s, x, there, first, apart)   the State `s` with those x(j) of j < N for which there(j), as the
//   first
//                                       always is; their positions are first + j * apart
// `contest`: that it keeps the place of the best one, for which see reduce/general/small_integers.cuh. For
// several results of a thread, of which it has the same number of elements each, there may be
//   in_flight                    how many of each a thread of general_columns has on the way, if there are
//   Kept, init()                 what a thread keeps of one
//   take<N>(kept, rows, x, there)   the same in it, after `rows` others
//   to_state(kept, rows)            its State
template <class F, class In> struct BatchAccumulator {
    static constexpr bool there = false, contest = false;
};

// What general_columns and general_spread keep of each result.
template <class F, class In, class = void> struct BatchState {
    static constexpr bool there = false;
    using Kept = typename F::State;
    static __device__ Kept init() {
        return F::identity();
    }
    static __device__ Kept to_state(const Kept &kept, uint64_t) {
        return kept;
    }
};
template <class F, class In>
struct BatchState<F, In, decltype(void(&BatchAccumulator<F, In>::to_state))> : BatchAccumulator<F, In> {};
