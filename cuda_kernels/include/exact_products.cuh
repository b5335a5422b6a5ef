// Bins that products are added to: those of float64.
#pragma once

#include "exact_bins.cuh"
#include "exact_block.cuh"

// Products of narrower elements are exact as float64.
template <class In> struct ProductBins : WideBins<> {
    using WideBins<>::WideBins;

    __device__ void add_product(In x, In y) {
        add(as_double(x) * as_double(y));
    }
};

// A product of float64 is a float64 and what its rounding left out, which is one too unless either becomes
// too small or too large. Such products go to the block's state at once, bit by bit.
template <> struct ProductBins<double> : WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW> {
    using Base = WideBins<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW>;
    using Base::Base;
    static constexpr unsigned each = 2; // additions to bins

    static __device__ unsigned exponent_of(double x) {
        return static_cast<unsigned>(__double2hiint(x)) >> 20 & 2047;
    }
    __device__ void add_product(double x, double y) {
        constexpr unsigned least = 1023 + 110, most = 1023 + 2040;
        const unsigned one = exponent_of(x), other = exponent_of(y);
        const bool rounds = one + other >= least && one + other <= most;
        const bool whole = x == 0 || y == 0 || one == 2047 || other == 2047;
        if (!rounds && !whole) {
            add_bits(x, y);
            return;
        }
        const double product = __dmul_rn(x, y);
        add(product);
        if (!whole)
            add(__fma_rn(x, y, -product));
    }
    static __device__ __noinline__ void add_bits(double x, double y) {
        const gr_exact_parts a = gr_exact_take_apart(static_cast<uint64_t>(__double_as_longlong(x)));
        const gr_exact_parts b = gr_exact_take_apart(static_cast<uint64_t>(__double_as_longlong(y)));
        const uint64_t first = static_cast<uint64_t>(llabs(a.value)),
                       second = static_cast<uint64_t>(llabs(b.value));
        const uint64_t low = first * second, high = __umul64hi(first, second);
        const int64_t sign = (a.value ^ b.value) < 0 ? -1 : 1;
        const unsigned position = a.position + b.position - 2 * 1075 + size.below;
        int64_t *state = block_state();
        add_pieces(state, sign * static_cast<int64_t>(low & 0xffffffffffff), position);
        add_pieces(state, sign * static_cast<int64_t>(low >> 48 | high << 16), position + 48);
        join_flags(state + size.words - 1, GR_EXACT_OTHER);
    }
};
