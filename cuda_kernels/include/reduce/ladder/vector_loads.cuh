// Loads of 16 bytes, which v8 teaches, for the rungs after it.
#pragma once

#include <cstdint>

namespace gr::reduce::ladder {

template <class In> struct alignas(16) Vec16 {
    static constexpr unsigned length = 16 / sizeof(In);
    In at[length];
};

template <class Op, class In, class Acc> __device__ Acc accumulate(Acc x, const Vec16<In> &v) {
#pragma unroll
    for (unsigned k = 0; k < Vec16<In>::length; ++k)
        x = Op::combine(x, v.at[k]);
    return x;
}

// This thread's share of n elements: every step-th vector, where the grid has `step` threads.
template <class Op, class Acc, class In> __device__ Acc accumulate_share(const In *in, uint64_t n) {
    using Vec = Vec16<In>;
    const Vec *vectors = reinterpret_cast<const Vec *>(in);
    const uint64_t count = n / Vec::length;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;

    Acc x = Op::identity();
    for (uint64_t i = first; i < count; i += step) {
        const Vec v = vectors[i]; // not by reference, which loads it element by element
        x = accumulate<Op>(x, v);
    }
    // The n % length elements behind the last whole vector go to the first threads of the grid.
    if (first < n % Vec::length)
        x = Op::combine(x, in[count * Vec::length + first]);
    return x;
}

} // namespace gr::reduce::ladder
