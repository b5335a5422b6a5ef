// A strip of elements under a mask, for general_masked_pieces: see pair_pieces.cuh. Elements that the mask
// leaves out have no effect, whatever they are.
#pragma once

#include "reduce/general/pair_pieces.cuh"
#include "reduce/masked/params.h"

namespace gr::reduce {

// Whether a functor marks NaNs, and has a function for elements of which some are left out. of_some(s, x,
// taken) makes `s` the State of those x[k] for which taken[k] is true, and returns false if these have to be
// appended one after the other.
template <class F, class = void> constexpr bool makes_some = false;
template <class F> constexpr bool makes_some<F, decltype(void(F::has_of_some))> = true;

// Sums and means under a mask: with GR_MASKED_SUM the result is the sum.
template <class In> struct MaskedSum : MaskedMean<In> {
    using Of = Mean<In>;
    using typename MaskedMean<In>::Out;
    using typename MaskedMean<In>::State;
    static constexpr bool is_integral = std::is_integral<Wide<In>>::value;
    static __device__ Out finish(State s, uint64_t, uint32_t flags) {
        if constexpr (!is_integral)
            if (flags & GR_MASKED_SUM)
                return Narrow<Out>::from(s.sum);
        return Of::finish(s.sum, s.count);
    }
    static __device__ State start(Out x) {
        if constexpr (is_integral)
            return {0, Of::start(x)};
        else
            return {0, Of::load(x, 0)};
    }
    template <unsigned N> static __device__ State of_taken(const In (&x)[N], const bool (&taken)[N]) {
        uint32_t count = 0;
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            count += taken[k];
        return {count, tree_sum<N>([&](unsigned k) {
                    const typename Of::State one = Of::load(x[k], 0);
                    return taken[k] ? one : Of::identity();
                })};
    }
};

// N elements of each lane, and as many bytes of a mask.
template <class F, class In, unsigned N> struct StripUnderMask {
    using State = typename F::State;
    using First = In;
    static constexpr unsigned each = N, strips_apart = GR_MASKED_STRIPS_APART(sizeof(State));
    static constexpr bool is_pair = false;
    const int64_t step; // bytes from an element of the mask to the next
    const bool skips_nan;

    explicit __device__ StripUnderMask(const gr_general_params &p)
        : step(p.along.second_stride[0]), skips_nan(p.flags & GR_MASKED_SKIP_NAN) {
    }
    // The State of the first `count` elements of a lane, up to N, `apart` elements from each other.
    __device__ State of(const In *x, uint64_t mask, unsigned apart, unsigned count) const {
        const int64_t mask_apart = step * int64_t(apart);
        In one[N];
        uint32_t flags[N];
        if (apart == 32 && count >= N) { // nothing in between the loads
#pragma unroll
            for (unsigned k = 0; k < N; ++k)
                one[k] = x[k * 32];
            if (step == 1) {
#pragma unroll
                for (unsigned k = 0; k < N; ++k)
                    flags[k] = reinterpret_cast<const uint8_t *>(mask)[k * 32];
            } else {
                uint64_t flag = mask;
#pragma unroll
                for (unsigned k = 0; k < N; ++k, flag += mask_apart)
                    flags[k] = *reinterpret_cast<const uint8_t *>(flag);
            }
        } else {
            const In *element = x;
            uint64_t flag = mask;
#pragma unroll
            for (unsigned k = 0; k < N; ++k) { // the last element instead of missing ones
                one[k] = *element;
                flags[k] = *reinterpret_cast<const uint8_t *>(flag);
                element += k + 1 < count ? apart : 0;
                flag += k + 1 < count ? mask_apart : 0;
            }
        }
        bool taken[N];
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            taken[k] = (flags[k] != 0) & (k < count);
            if constexpr (!makes_some<F>)
                taken[k] &= !(skips_nan & is_nan(widen(one[k])));
        }
        State s = F::identity();
        if constexpr (makes_some<F>) {
            if (F::of_some(s, one, taken))
                return s;
            s = F::identity();
#pragma unroll 1
            for (unsigned k = 0; k < N && k < count; ++k, x += apart, mask += mask_apart)
                if (*reinterpret_cast<const uint8_t *>(mask))
                    s = F::append(s, *x, 0);
        } else if constexpr (std::is_same<F, MaskedSum<In>>::value) {
            s = F::of_taken(one, taken);
        } else {
#pragma unroll
            for (unsigned k = 0; k < N; ++k) {
                const State longer = F::combine(s, F::load(one[k], 0));
                s = taken[k] ? longer : s;
            }
        }
        return s;
    }
};

} // namespace gr::reduce
