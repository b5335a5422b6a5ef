// The operators of the rungs: an identity, and an associative combine of a partial result with an element or
// with another partial result. There is one class template for each row of ops.def that a rung covers.
#pragma once

#include <cstdint>
#include <limits>

namespace gr::reduce::ladder {

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
template <class Acc> struct Limits {
    using Of = std::numeric_limits<Acc>;
    static constexpr Acc largest = Of::has_infinity ? Of::infinity() : Of::max();
    static constexpr Acc lowest = Of::has_infinity ? -Of::infinity() : Of::lowest();
};

// NaN propagates, as in NumPy: it is the one value that differs from itself. (min.NaN, one instruction for
// this, needs compute capability 8.0.)
template <class Acc> struct Min {
    static __device__ Acc identity() {
        return Limits<Acc>::largest;
    }
    static __device__ Acc combine(Acc a, Acc b) {
        return b < a || b != b ? b : a;
    }
};

template <class Acc> struct Max {
    static __device__ Acc identity() {
        return Limits<Acc>::lowest;
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

} // namespace gr::reduce::ladder
