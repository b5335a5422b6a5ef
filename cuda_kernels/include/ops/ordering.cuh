// Functors that compare, test or count elements: minima, maxima, their positions, any, all, count_nonzero.
// Their members are those of functors.cuh.
#pragma once

#include <type_traits>

#include "ops/functors.cuh"

namespace gr::ops {

// NumPy's order: a NaN precedes everything, so that it propagates; complex numbers are ordered by their real
// parts first.
template <class T> __device__ bool is_nan(T x) {
    return x != x;
}
template <class T> __device__ bool is_nan(ComplexParts<T> x) {
    return is_nan(x.re) || is_nan(x.im);
}

template <class T> __device__ bool less(T a, T b) {
    return a < b;
}
template <class T> __device__ bool less(ComplexParts<T> a, ComplexParts<T> b) {
    return a.re < b.re || (a.re == b.re && a.im < b.im);
}

// Whether `a` wins over `b`: strictly, so that equal ones keep their places.
template <bool Largest, class T> __device__ bool wins(T a, T b) {
    if constexpr (std::is_floating_point<T>::value) // the same in fewer instructions
        return b == b && (Largest ? !(a <= b) : !(a >= b));
    if (is_nan(a) || is_nan(b))
        return is_nan(a) && !is_nan(b);
    return Largest ? less(b, a) : less(a, b);
}

// The value that every element of T wins over or equals.
template <bool Largest> __device__ bool worst(gr_bool) {
    return !Largest;
}
template <bool Largest, class T> __device__ auto worst(T x) {
    if constexpr (std::is_floating_point<T>::value)
        return Largest ? -T(INFINITY) : T(INFINITY);
    else if constexpr (!std::is_integral<T>::value)
        return worst<Largest>(widen(x));
    else {
        const T lowest = T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0);
        return Largest ? lowest : T(~lowest);
    }
}
template <bool Largest, class T> __device__ ComplexParts<T> worst(ComplexParts<T>) {
    return {worst<Largest>(T()), worst<Largest>(T())};
}

template <class In, bool Largest> struct Extreme : Elementwise<In> {
    using State = Wide<In>;
    static __device__ State identity() {
        return worst<Largest>(State());
    }
    static __device__ State combine(State a, State b) {
        return wins<Largest>(b, a) ? b : a;
    }
};
template <class In> struct Min : Extreme<In, false> {};
template <class In> struct Max : Extreme<In, true> {};

template <class T> struct ArgValue {
    T value;
    int64_t position; // -1: none yet
};

template <class In, bool Largest> struct ArgExtreme {
    using State = ArgValue<Wide<In>>;
    using Out = int64_t;
    static __device__ State identity() {
        return {Zero<Wide<In>>::make(), -1};
    }
    static __device__ State load(In x, uint64_t position) {
        return {widen(x), int64_t(position)};
    }
    // `x` follows the elements of `s`.
    static __device__ State append(State s, In x, uint64_t position) {
        const Wide<In> value = widen(x);
        return s.position < 0 || wins<Largest>(value, s.value) ? State{value, int64_t(position)} : s;
    }
    // The first of equals wins, whatever the order in which the parts meet.
    static __device__ State combine(State a, State b) {
        if (a.position < 0 || b.position < 0)
            return a.position < 0 ? b : a;
        if (wins<Largest>(b.value, a.value))
            return b;
        return b.position < a.position && !wins<Largest>(a.value, b.value) ? b : a;
    }
    static __device__ Out finish(State s, uint64_t) {
        return s.position;
    }
};
template <class In> struct ArgMin : ArgExtreme<In, false> {};
template <class In> struct ArgMax : ArgExtreme<In, true> {};

template <class T> __device__ bool is_true(T x) {
    return x != 0;
}
template <class T> __device__ bool is_true(ComplexParts<T> x) {
    return x.re != 0 || x.im != 0;
}

template <class In> struct Any {
    using State = uint32_t;
    using Out = gr_bool;
    static __device__ State identity() {
        return 0;
    }
    static __device__ State load(In x, uint64_t) {
        return is_true(widen(x));
    }
    // Of four elements, from the highest bit of each byte.
    static __device__ State of_bytes(uint32_t nonzero) {
        return nonzero != 0;
    }
    static __device__ State combine(State a, State b) {
        return a | b;
    }
    static __device__ Out finish(State s, uint64_t) {
        return {uint8_t(s)};
    }
    static __device__ State start(Out x) {
        return is_true(widen(x));
    }
};

template <class In> struct All : Any<In> {
    static __device__ uint32_t identity() {
        return 1;
    }
    static __device__ uint32_t of_bytes(uint32_t nonzero) {
        return nonzero == 0x80808080u;
    }
    static __device__ uint32_t combine(uint32_t a, uint32_t b) {
        return a & b;
    }
};

template <class In> struct CountNonzero {
    using State = int64_t;
    using Out = int64_t;
    static __device__ State identity() {
        return 0;
    }
    static __device__ State load(In x, uint64_t) {
        return is_true(widen(x));
    }
    static __device__ State of_bytes(uint32_t nonzero) {
        return __popc(nonzero);
    }
    static __device__ State combine(State a, State b) {
        return a + b;
    }
    static __device__ Out finish(State s, uint64_t) {
        return s;
    }
    static __device__ State start(Out x) {
        return x;
    }
};

template <class In> struct BitwiseAnd : Elementwise<In> {
    using State = Wide<In>;
    static __device__ State identity() {
        return ~State(0);
    }
    static __device__ State combine(State a, State b) {
        return a & b;
    }
};
template <class In> struct BitwiseOr : Elementwise<In> {
    using State = Wide<In>;
    static __device__ State identity() {
        return State(0);
    }
    static __device__ State combine(State a, State b) {
        return a | b;
    }
};
template <class In> struct BitwiseXor : BitwiseOr<In> {
    using State = Wide<In>;
    static __device__ State combine(State a, State b) {
        return a ^ b;
    }
};

} // namespace gr::ops
