// Complex numbers as elements of matrices: four real multiply-adds for each complex one.
#pragma once

#include "common/element_types.cuh"

inline __device__ gr_c64 multiply_add(gr_c64 a, gr_c64 b, gr_c64 c) {
    return {fmaf(a.re, b.re, fmaf(-a.im, b.im, c.re)), fmaf(a.re, b.im, fmaf(a.im, b.re, c.im))};
}

inline __device__ void operator+=(gr_c64 &a, gr_c64 b) {
    a.re += b.re;
    a.im += b.im;
}

inline __device__ void operator*=(gr_c64 &a, float factor) {
    a.re *= factor;
    a.im *= factor;
}
