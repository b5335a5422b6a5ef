// Operators: an identity and an associative combine. One class template for every row of ops.def.
#pragma once

#include <cstdint>

template <class Acc> struct Sum {
    static __device__ Acc identity() {
        return Acc(0);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return a + b;
    }
};

// Signed overflow is undefined in C++; NumPy's int64 wraps, and so does unsigned arithmetic.
template <> struct Sum<int64_t> {
    static __device__ int64_t identity() {
        return 0;
    }
    static __device__ int64_t combine(int64_t a, int64_t b) {
        return int64_t(uint64_t(a) + uint64_t(b));
    }
};
