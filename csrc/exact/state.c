/* Merges, checks and rounds arrays of superaccumulator states on the host, by the arithmetic that the kernels
   use. */
#include <string.h>

#include "exact/exact.h"

void gr_exact_states_normalise(int64_t *words, size_t count, gr_exact_size size) {
    const uint32_t last = size.words - 3;
    for (size_t i = 0; i < count; ++i, words += size.words) {
        int64_t carry = 0;
        for (uint32_t k = 0; k < last; ++k) {
            const int64_t sum = (int64_t)((uint64_t)words[k] + (uint64_t)carry);
            words[k] = sum & 0xffffffff;
            carry = sum >> 32;
        }
        words[last] = (int64_t)((uint64_t)words[last] + (uint64_t)carry);
    }
}

static bool is_normalised(const int64_t *words, gr_exact_size size) {
    const uint32_t last = size.words - 3;
    bool good = words[last] >= INT32_MIN && words[last] <= INT32_MAX && words[last + 1] >= 0 &&
                words[last + 2] >= 0 && words[last + 2] < 16;
    for (uint32_t k = 0; k < last; ++k)
        good = good && words[k] >= 0 && words[k] <= UINT32_MAX;
    return good;
}

bool gr_exact_states_are_normalised(const int64_t *words, size_t count, gr_exact_size size) {
    for (size_t i = 0; i < count; ++i)
        if (!is_normalised(words + i * size.words, size))
            return false;
    return true;
}

/* The sum of two states, which may not be normalised. */
static void add_states(int64_t *sum, const int64_t *one, const int64_t *other, gr_exact_size size) {
    const uint32_t flags = size.words - 1;
    for (uint32_t k = 0; k < flags; ++k)
        sum[k] = (int64_t)((uint64_t)one[k] + (uint64_t)other[k]);
    sum[flags] = one[flags] | other[flags];
    gr_exact_carry(sum, size.words - 2);
}

bool gr_exact_states_merge(int64_t *words, const int64_t *others, size_t count, gr_exact_size size) {
    int64_t sum[GR_EXACT_WIDEST_WORDS];
    for (size_t i = 0; i < count * size.words; i += size.words) {
        add_states(sum, words + i, others + i, size);
        if (!is_normalised(sum, size))
            return false;
    }
    for (size_t i = 0; i < count * size.words; i += size.words) {
        add_states(sum, words + i, others + i, size);
        memcpy(words + i, sum, size.words * sizeof *sum);
    }
    return true;
}

void gr_exact_states_round(const int64_t *words, const uint64_t *divisors, size_t count, gr_exact_size size,
                           gr_exact_format format, uint64_t *bits) {
    int64_t state[GR_EXACT_WIDEST_WORDS];
    for (size_t i = 0; i < count; ++i) {
        memcpy(state, words + i * size.words, size.words * sizeof *words);
        state[size.words - 1] |= GR_EXACT_NOT_MINUS_ZERO; /* a sum starts at 0, so it is never -0 */
        bits[i] = gr_exact_result(state, size, divisors[i], format);
    }
}
