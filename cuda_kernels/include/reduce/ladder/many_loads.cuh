// Several vector loads of 16 bytes in flight per thread, which v10 teaches, for the kernels after it.
#pragma once

#include "reduce/ladder/vector_loads.cuh"

namespace gr::reduce::ladder {

// An array as whole vectors on 16-byte boundaries, and the few elements before and behind them.
template <class In> struct AlignedSplit {
    uint64_t head, count, tail;
    const Vec16<In> *vectors;

    __device__ AlignedSplit(const In *in, uint64_t n) {
        const uint64_t to_boundary = -reinterpret_cast<uintptr_t>(in) % 16 / sizeof(In);
        head = to_boundary < n ? to_boundary : n;
        vectors = reinterpret_cast<const Vec16<In> *>(in + head);
        count = (n - head) / Vec16<In>::length;
        tail = head + count * Vec16<In>::length;
    }
};

// Takes every step-th vector from the first one on into x.
template <class Op, unsigned Loads, class In, class Acc>
__device__ Acc accumulate_all(Acc x, const AlignedSplit<In> &parts, uint64_t first, uint64_t step) {
    uint64_t i = first;
    for (; i + (Loads - 1) * step < parts.count; i += Loads * step) {
        Vec16<In> v[Loads];
#pragma unroll
        for (unsigned k = 0; k < Loads; ++k)
            v[k] = parts.vectors[i + k * step];
#pragma unroll
        for (unsigned k = 0; k < Loads; ++k)
            x = accumulate<Op>(x, v[k]);
    }
    for (; i < parts.count; i += step) {
        const Vec16<In> v = parts.vectors[i];
        x = accumulate<Op>(x, v);
    }
    return x;
}

// Takes what lies before and behind the vectors into x; `first` counts the threads of the grid.
template <class Op, class In, class Acc>
__device__ Acc accumulate_ends(Acc x, const AlignedSplit<In> &parts, const In *in, uint64_t n,
                               uint64_t first) {
    if (first < parts.head)
        x = Op::combine(x, in[first]);
    if (parts.tail + first < n)
        x = Op::combine(x, in[parts.tail + first]);
    return x;
}

} // namespace gr::reduce::ladder
