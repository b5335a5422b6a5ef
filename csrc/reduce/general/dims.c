/* Computes fast divisors and the increments of strided iterators over merged dimensions. */
#include "reduce/general/dims.h"

#include <stdbool.h>

/* See gr_fast_divmod. With 2^bits >= d, 2^(63 + bits) / d rounded up is too large by less than 2^bits / d,
   which changes no quotient of an n below 2^63. */
gr_fast_divmod gr_fast_divmod_of(uint64_t d) {
    if (d < 2)
        return (gr_fast_divmod){0, 0};
    uint64_t bits = 1;
    while (bits < 63 && UINT64_C(1) << bits < d)
        ++bits;
    uint64_t quotient = (UINT64_C(1) << 63) / d, rest = (UINT64_C(1) << 63) % d;
    for (uint64_t i = 0; i < bits; ++i) { /* long division, one bit per iteration */
        const bool carry = rest >= d - rest;
        quotient = 2 * quotient + carry;
        rest = carry ? rest - (d - rest) : 2 * rest;
    }
    return (gr_fast_divmod){.magic = quotient + (rest > 0), .shift = bits - 1};
}

void gr_dims_divide(gr_dims *dims) {
    for (size_t d = 0; d < GR_MAX_DIMS; ++d)
        dims->by[d] = gr_fast_divmod_of(dims->extent[d]);
}

/* Modulo 2^64: an iterator may step beyond all elements, where no thread dereferences it. */
static int64_t times(uint64_t n, int64_t stride) {
    return (int64_t)(n * (uint64_t)stride);
}

static int64_t plus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

gr_strided_iterator gr_dims_iterator(const gr_dims *dims, uint64_t step) {
    gr_strided_iterator iterator = {.step = step,
                                    .by = gr_fast_divmod_of(step),
                                    .extent = UINT64_MAX,
                                    .step_remainder = step,
                                    .increment = times(step, dims->stride[0]),
                                    .second_increment = times(step, dims->second_stride[0])};
    if (dims->extent[1] > 1 && dims->extent[0] > 0) {
        const uint64_t extent = dims->extent[0], wraps = step / extent;
        iterator.extent = extent;
        iterator.step_remainder = step % extent;
        iterator.wrap_increment = plus(dims->stride[1], times(0 - extent, dims->stride[0]));
        iterator.second_wrap_increment =
            plus(dims->second_stride[1], times(0 - extent, dims->second_stride[0]));
        iterator.increment = plus(iterator.increment, times(wraps, iterator.wrap_increment));
        iterator.second_increment =
            plus(iterator.second_increment, times(wraps, iterator.second_wrap_increment));
    }
    return iterator;
}

void gr_dims_bounds(const gr_dims *dims, int64_t *low, int64_t *high) {
    for (size_t d = 0; d < GR_MAX_DIMS; ++d) {
        const int64_t last = (int64_t)(dims->extent[d] - 1) * dims->stride[d];
        *low += last < 0 ? last : 0;
        *high += last > 0 ? last : 0;
    }
}

void gr_dims_swap(gr_dims *dims, size_t a, size_t b) {
    const gr_dims old = *dims;
    dims->extent[a] = old.extent[b];
    dims->extent[b] = old.extent[a];
    dims->stride[a] = old.stride[b];
    dims->stride[b] = old.stride[a];
    dims->second_stride[a] = old.second_stride[b];
    dims->second_stride[b] = old.second_stride[a];
    dims->by[a] = old.by[b];
    dims->by[b] = old.by[a];
}
