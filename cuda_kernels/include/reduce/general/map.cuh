// general_map: a reduction along axes of length one, so that each element becomes a result. The kernel writes
// as many bytes as it reads, or more; a thread stores 16 bytes at once where the results allow it, and has
// several loads in flight.
#pragma once

#include "common/vec.cuh"
#include "reduce/general/general.cuh"

namespace gr::reduce {

// The result of a single element.
template <class F, class In, class = void> struct OfOne {
    static __device__ typename F::Out result(const gr_general_params &p, In x) {
        return finished<F>(p, F::load(x, 0));
    }
};
template <class F, class In> struct OfOne<F, In, decltype(void(&F::of_one))> {
    static __device__ typename F::Out result(const gr_general_params &p, In x) {
        return F::of_one(x, p.divisor, p.flags);
    }
};

template <class F, class In> __device__ void map_elements(const gr_general_params &p) {
    using Out = typename F::Out;
    constexpr unsigned larger = sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out), width = 16 / larger;
    using Elements = Vec<In, width>;
    using Results = Vec<Out, width>;
    const unsigned skew =
        unsigned((sizeof(Elements) - p.in % sizeof(Elements)) % sizeof(Elements) / sizeof(In));
    const uint64_t head = skew < p.results ? skew : p.results;
    const uint64_t vectors = (p.results - head) / width, tail = head + vectors * width;
    const In *in = reinterpret_cast<const In *>(p.in);
    const Elements *elements = reinterpret_cast<const Elements *>(in + head);
    Out *out = reinterpret_cast<Out *>(p.out);
    const bool together = uint64_t(out + head) % sizeof(Results) == 0;

    const uint64_t first = uint64_t(blockIdx.x) * (GR_MAP_VECTORS * GR_GENERAL_THREADS) + threadIdx.x;
    pdl_begin(p);
    Elements loaded[GR_MAP_VECTORS];
#pragma unroll
    for (unsigned j = 0; j < GR_MAP_VECTORS; ++j)
        if (first + j * GR_GENERAL_THREADS < vectors)
            loaded[j] = elements[first + j * GR_GENERAL_THREADS];
#pragma unroll
    for (unsigned j = 0; j < GR_MAP_VECTORS; ++j) {
        const uint64_t at = first + j * GR_GENERAL_THREADS;
        if (at >= vectors)
            continue;
        Results results;
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            results.at[e] = OfOne<F, In>::result(p, loaded[j].at[e]);
        if (together)
            reinterpret_cast<Results *>(out + head)[at] = results;
        else
#pragma unroll
            for (unsigned e = 0; e < width; ++e)
                out[head + at * width + e] = results.at[e];
    }
    if (first < head)
        out[first] = OfOne<F, In>::result(p, in[first]);
    if (tail + first < p.results)
        out[tail + first] = OfOne<F, In>::result(p, in[tail + first]);
}

} // namespace gr::reduce
