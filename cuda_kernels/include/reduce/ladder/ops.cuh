// The operators of the rungs: an identity, and an associative combine of a partial result with an element or
// with another partial result. There is one class template for each row of ops.def that a rung covers.
#pragma once

#include <cstdint>

// What Acc is added and multiplied in: signed overflow is undefined in C++, but NumPy's int64 wraps, and so
// does unsigned arithmetic.
template <class Acc> struct Wrapping { using type = Acc; };
template <> struct Wrapping<int64_t> { using type = uint64_t; };

template <class Acc> struct Sum {
    using Modular = typename Wrapping<Acc>::type;
    static __device__ Acc identity() {
        return Acc(0);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return Acc(Modular(a) + Modular(b));
    }
};

template <class Acc> struct Prod {
    using Modular = typename Wrapping<Acc>::type;
    static __device__ Acc identity() {
        return Acc(1);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return Acc(Modular(a) * Modular(b));
    }
};

// What no element can be beyond: an infinity, or the end of the range.
template <class Acc> struct Limits;
template <> struct Limits<float> {
    static __device__ float largest() {
        return __int_as_float(0x7f800000);
    }
    static __device__ float lowest() {
        return -largest();
    }
};
template <> struct Limits<double> {
    static __device__ double largest() {
        return __longlong_as_double(0x7ff0000000000000);
    }
    static __device__ double lowest() {
        return -largest();
    }
};
template <> struct Limits<int32_t> {
    static __device__ int32_t largest() {
        return INT32_MAX;
    }
    static __device__ int32_t lowest() {
        return INT32_MIN;
    }
};
template <> struct Limits<int64_t> {
    static __device__ int64_t largest() {
        return INT64_MAX;
    }
    static __device__ int64_t lowest() {
        return INT64_MIN;
    }
};

// NaN propagates, as in NumPy: it is the one value that differs from itself. (min.NaN, one instruction for
// this, needs compute capability 8.0.)
template <class Acc> struct Min {
    static __device__ Acc identity() {
        return Limits<Acc>::largest();
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return b < a || b != b ? b : a;
    }
};

template <class Acc> struct Max {
    static __device__ Acc identity() {
        return Limits<Acc>::lowest();
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return b > a || b != b ? b : a;
    }
};

// The first argument is a truth value, 0 or 1; the second may be one too, or an element of any type.
template <class Acc> struct Any {
    static __device__ Acc identity() {
        return 0;
    }
    template <class T> static __device__ Acc combine(Acc a, T b) {
        return a | Acc(b != T(0));
    }
};

template <class Acc> struct All {
    static __device__ Acc identity() {
        return 1;
    }
    template <class T> static __device__ Acc combine(Acc a, T b) {
        return a & Acc(b != T(0));
    }
};

template <class Acc> struct BitwiseAnd {
    static __device__ Acc identity() {
        return Acc(-1);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return a & b;
    }
};

template <class Acc> struct BitwiseOr {
    static __device__ Acc identity() {
        return Acc(0);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return a | b;
    }
};

template <class Acc> struct BitwiseXor {
    static __device__ Acc identity() {
        return Acc(0);
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return a ^ b;
    }
};
