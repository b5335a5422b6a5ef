// Integers of 128 bits, in two's complement: sums that are exact, and quotients that are rounded once.
#pragma once

#include <cstdint>

namespace gr::ops {

struct Int128 {
    uint64_t low, high;
};

// Outputs are no inputs, which the second instruction would read behind the first.
inline __device__ Int128 plus(Int128 a, Int128 b) {
    Int128 sum;
    asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
        : "=&l"(sum.low), "=&l"(sum.high)
        : "l"(a.low), "l"(a.high), "l"(b.low), "l"(b.high));
    return sum;
}
inline __device__ Int128 minus(Int128 a, Int128 b) {
    return plus(a, plus(Int128{~b.low, ~b.high}, Int128{1, 0}));
}

// The product of two numbers without sign.
inline __device__ Int128 times_wide(uint64_t a, uint64_t b) {
    return {a * b, __umul64hi(a, b)};
}
// The lowest 128 bits of a product.
inline __device__ Int128 times_signed(Int128 a, int64_t b) {
    const Int128 low = times_wide(a.low, uint64_t(b));
    return {low.low, low.high + a.high * uint64_t(b) - (b < 0 ? a.low : 0)};
}

inline __device__ uint64_t magnitude_of(int64_t x) {
    return x < 0 ? uint64_t(0) - uint64_t(x) : uint64_t(x);
}
inline __device__ Int128 magnitude_of(Int128 x) {
    return int64_t(x.high) < 0 ? minus(Int128{0, 0}, x) : x;
}
inline __device__ double to_double(Int128 x) {
    const int64_t low = int64_t(x.low), high = int64_t(x.high + (x.low >> 63)); // x = high * 2^64 + low
    return fma(double(high), 0x1p64, double(low));
}

// The quotient x / by, rounded once, of x >= 0 and by > 0, x = first + rest in doubles. first / by is
// corrected by its remainder and `rest`: the sum is rounded. Both are exact for x < 2^106, and by < 2^53.
// Then the correction is exact if the quotient is halfway between two doubles. Other quotients are at least 1
// / (4 by) units of the last place away from there (1 / (2^e by), if a unit is 2^e > 1), and the error of the
// correction is below 2^-51 units: the quotient is correctly rounded if by < 2^(49 - e). Otherwise its error
// is at most 0.5 + 2^-48 units.
inline __device__ double quotient_of(Int128 x, uint64_t by) {
    const bool large = x.high >> 53 != 0; // The lowest 11 bits are below 2^-106.
    if (large)
        x = {x.low >> 11 | x.high << 53, x.high >> 11};
    const double upper = double(x.high) * 0x1p64, middle = double(x.low & ~0x7ffull), sum = upper + middle;
    const double lower = (middle - (sum - upper)) + double(uint32_t(x.low) & 0x7ff);
    const double first = sum + lower, rest = lower - (first - sum), divisor = double(by);
    const double rough = first / divisor;
    if (rest == 0 && by >> 53 == 0)
        return large ? rough * 2048 : rough;
    double left = __fma_rn(-rough, divisor, first) + rest;
    if (by >> 53 != 0)
        left = __fma_rn(-rough, double(int64_t(by - __double2ull_rn(divisor))), left);
    const double quotient = rough + left / divisor;
    return large ? quotient * 2048 : quotient;
}

} // namespace gr::ops
