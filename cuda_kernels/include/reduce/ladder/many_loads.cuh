// The loads that v10 teaches, for the kernels after it.
#pragma once

#include <cstdint>

template <class In> struct alignas(16) Vector {
    static constexpr unsigned length = 16 / sizeof(In);
    In at[length];
};

// An array as whole vectors on 16-byte boundaries, and the few elements before and behind them.
template <class In> struct Parts {
    uint64_t head, count, tail;
    const Vector<In> *vectors;

    __device__ Parts(const In *in, uint64_t n) {
        const uint64_t to_boundary = -reinterpret_cast<uintptr_t>(in) % 16 / sizeof(In);
        head = to_boundary < n ? to_boundary : n;
        vectors = reinterpret_cast<const Vector<In> *>(in + head);
        count = (n - head) / Vector<In>::length;
        tail = head + count * Vector<In>::length;
    }
};

template <class Op, class In, class Acc> __device__ Acc absorb(Acc x, const Vector<In> &v) {
#pragma unroll
    for (unsigned k = 0; k < Vector<In>::length; ++k)
        x = Op::combine(x, v.at[k]);
    return x;
}

// Takes every step-th vector from the first one on into x.
template <class Op, unsigned Loads, class In, class Acc>
__device__ Acc absorb_all(Acc x, const Parts<In> &parts, uint64_t first, uint64_t step) {
    uint64_t i = first;
    for (; i + (Loads - 1) * step < parts.count; i += Loads * step) {
        Vector<In> v[Loads];
#pragma unroll
        for (unsigned k = 0; k < Loads; ++k)
            v[k] = parts.vectors[i + k * step];
#pragma unroll
        for (unsigned k = 0; k < Loads; ++k)
            x = absorb<Op>(x, v[k]);
    }
    for (; i < parts.count; i += step) {
        const Vector<In> v = parts.vectors[i]; // not by reference, which loads it element by element
        x = absorb<Op>(x, v);
    }
    return x;
}

// Takes what lies before and behind the vectors into x; `first` counts the threads of the grid.
template <class Op, class In, class Acc>
__device__ Acc absorb_ends(Acc x, const Parts<In> &parts, const In *in, uint64_t n, uint64_t first) {
    if (first < parts.head)
        x = Op::combine(x, in[first]);
    if (parts.tail + first < n)
        x = Op::combine(x, in[parts.tail + first]);
    return x;
}
