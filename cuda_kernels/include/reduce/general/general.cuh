// Common parts of the general kernels, which variant="auto" runs for arrays of any layout: how a State
// becomes a result, and how results are stored, once or several times.
#pragma once

#include "common/strided_offsets.cuh"
#include "common/vec16.cuh"
#include "grid/block_state.cuh"
#include "reduce/general/params.h"

#include "reduce/batch_accumulate.cuh"
#include "reduce/finish.cuh"
#include "reduce/general/pdl.cuh"

namespace gr::reduce {

using namespace grid;

// Bytes of a State, as registers of a kernel limit its occupancy.
template <class F> constexpr unsigned occupancy_bytes = sizeof(typename F::State);

// Whether the code of `finish` is long, so that it is once in the code for each result of a vector.
template <class F> constexpr bool has_long_finish = false;

// The State after one more element, which follows all elements of `s`.
template <class F, class In, class = void> struct Append {
    static __device__ typename F::State to(typename F::State s, In x, uint64_t position) {
        return F::combine(s, F::load(x, position));
    }
};
template <class F, class In> struct Append<F, In, decltype(void(&F::append))> {
    static __device__ typename F::State to(typename F::State s, In x, uint64_t position) {
        return F::append(s, x, position);
    }
};

// The result of a State of all elements.
template <class F> __device__ typename F::Out finished(const gr_general_params &p, typename F::State s) {
    if (p.flags & GR_HAS_INITIAL)
        s = F::combine(start_state<F>(*reinterpret_cast<const typename F::Out *>(p.initial)), s);
    return finished<F>(s, p.divisor, p.flags);
}

// Writes State or result number `index`.
template <class F> __device__ void put(const gr_general_params &p, uint64_t index, typename F::State s) {
    if (p.flags & GR_FINAL)
        reinterpret_cast<typename F::Out *>(p.out)[index] = finished<F>(p, s);
    else
        reinterpret_cast<typename F::State *>(p.out)[index] = s;
}

// Makes each of N States that of p.multiplicity times its elements, by doubling.
template <class F, unsigned N> __device__ void repeat(const gr_general_params &p, typename F::State (&s)[N]) {
    if (p.multiplicity <= 1)
        return;
    typename F::State once[N];
#pragma unroll
    for (unsigned e = 0; e < N; ++e)
        once[e] = s[e];
#pragma unroll 1
    for (uint64_t bit = p.multiplicity_bit / 2; bit > 0; bit /= 2)
#pragma unroll
        for (unsigned e = 0; e < N; ++e) {
            s[e] = F::combine(s[e], s[e]);
            if (p.multiplicity & bit)
                s[e] = F::combine(s[e], once[e]);
        }
}

// Writes those of N States that are `live`, State e as number at(e), or their results: as `put`, and under
// GR_SCATTERED_OUTPUT. One after the other, as places take divisions.
template <class F, unsigned N, class At>
__device__ void put_all(const gr_general_params &p, unsigned live, typename F::State (&s)[N], const At &at) {
    const bool places = (p.flags & (GR_FINAL | GR_SCATTERED_OUTPUT)) == (GR_FINAL | GR_SCATTERED_OUTPUT);
    const uint64_t part = p.flags & GR_FINAL ? 0 : uint64_t(blockIdx.y) * p.results;
    if (places)
        repeat<F>(p, s);
#pragma unroll 1
    for (unsigned e = 0; live >> e > 0; ++e) {
        if (!(live >> e & 1))
            continue;
        typename F::State x = s[0]; // registers have no numbers
#pragma unroll
        for (unsigned i = 1; i < N; ++i)
            if (i == e)
                x = s[i];
        const uint64_t index = at(e);
        put<F>(p, places ? uint64_t(place_of(p.output_layout, index)) : part + index, x);
    }
}

// The same for one State.
template <class F> __device__ void put_one(const gr_general_params &p, uint64_t index, typename F::State s) {
    typename F::State all[1] = {s};
    put_all<F>(p, 1, all, [&](unsigned) { return index; });
}

} // namespace gr::reduce
