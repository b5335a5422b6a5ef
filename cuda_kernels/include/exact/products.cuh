// Bins that products are added to: those of float64, for exact dot products.
#pragma once

#include "exact/bins.cuh"
#include "exact/block.cuh"

// Products of narrower elements are exact as float64.
template <class In> struct ProductBins : NarrowProducts {
    using NarrowProducts::NarrowProducts;

    __device__ void add_product(In x, In y) {
        add(as_double(x) * as_double(y));
    }
    __device__ void add_products(In x, In y, In next_x, In next_y) {
        add_two(as_double(x) * as_double(y), as_double(next_x) * as_double(next_y));
    }
};

// A product of float64 is a float64 and its rounding error, which is a float64, too, unless either is too
// small or too large. Such products go to the block's state at once, bit by bit.
template <> struct ProductBins<double> : WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW> {
    using Base = WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW>;
    using Base::Base;
    static constexpr unsigned each = 2; // additions to bins

    __device__ void add_product(double x, double y) {
        constexpr unsigned least =
            64; // biased; the last bit of the rounding error is the last bit of a double
        double product = __dmul_rn(x, y), rest = __fma_rn(x, y, -product);
        const unsigned exponent = high_bits(product) >> 20 & 2047;
        if (exponent - least >= 2047 - least) {
            rest = -0.0;
            if (x != 0 && y != 0 && isfinite(x) && isfinite(y)) {
                add_bits(x, y);
                product = -0.0;
            }
        }
        add_two(product, rest);
    }
    __device__ void add_products(double x, double y, double next_x, double next_y) {
        add_product(x, y);
        add_product(next_x, next_y);
    }
    static __device__ __noinline__ void add_bits(double x, double y) {
        const gr_exact_decomposed a = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(x)));
        const gr_exact_decomposed b = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(y)));
        const uint64_t first = static_cast<uint64_t>(llabs(a.value)),
                       second = static_cast<uint64_t>(llabs(b.value));
        const uint64_t low = first * second, high = __umul64hi(first, second);
        const int64_t sign = (a.value ^ b.value) < 0 ? -1 : 1;
        const unsigned position = a.position + b.position - 2 * 1075 + size.below;
        int64_t *state = block_state();
        add_pieces(state, sign * static_cast<int64_t>(low & 0xffffffffffff), position);
        add_pieces(state, sign * static_cast<int64_t>(low >> 48 | high << 16), position + 48);
        join_block_flags(state + size.words - 1, GR_EXACT_NOT_MINUS_ZERO);
    }
};
