// Complex numbers with the arithmetic that expressions of a custom reduction and products need. Their layout
// in memory is NumPy's: the real part, then the imaginary part.
#pragma once

namespace gr::common {

template <class T> struct alignas(2 * sizeof(T)) complex {
    T re, im;

    __device__ complex(T real = T(), T imaginary = T()) : re(real), im(imaginary) {
    }
    template <class U> __device__ complex(complex<U> z) : re(T(z.re)), im(T(z.im)) {
    }
    __device__ T real() const {
        return re;
    }
    __device__ T imag() const {
        return im;
    }

    // Friends, so that either side may be a real number. Products and quotients are the plain formulas.
    friend __device__ complex operator+(complex a, complex b) {
        return {a.re + b.re, a.im + b.im};
    }
    friend __device__ complex operator-(complex a, complex b) {
        return {a.re - b.re, a.im - b.im};
    }
    friend __device__ complex operator*(complex a, complex b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    friend __device__ complex operator/(complex a, complex b) {
        const T square = b.re * b.re + b.im * b.im;
        return {(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
    }
    friend __device__ complex operator-(complex a) {
        return {-a.re, -a.im};
    }
    friend __device__ bool operator==(complex a, complex b) {
        return a.re == b.re && a.im == b.im;
    }
    friend __device__ bool operator!=(complex a, complex b) {
        return !(a == b);
    }
    friend __device__ T real(complex a) {
        return a.re;
    }
    friend __device__ T imag(complex a) {
        return a.im;
    }
    friend __device__ complex conj(complex a) {
        return {a.re, -a.im};
    }
    friend __device__ T norm(complex a) { // the square of abs, as in the C++ library
        return a.re * a.re + a.im * a.im;
    }
    friend __device__ T abs(complex a) {
        return hypot(a.re, a.im);
    }
};

} // namespace gr::common
