/* One superaccumulator on the host, for tests/exact/test_exact_state.py: numbers are added, states merged and
   rounded by the arithmetic of csrc/exact/superaccumulator.h, which kernels use. */
#include <string.h>

#include "exact/superaccumulator.h"

typedef struct exact_state {
    gr_exact_size size;
    int64_t word[GR_EXACT_WIDEST_WORDS]; /* the first size.words of them are used */
} exact_state;

/* Sets the state to the empty sum. */
void exact_state_begin(exact_state *state, gr_exact_size size) {
    memset(state->word, 0, sizeof state->word);
    state->size = size;
}

/* Adds a number. A narrow state accepts only values of a float32. */
void exact_state_add(exact_state *state, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    gr_exact_add(state->word, state->size, bits);
    gr_exact_carry(state->word, state->size.words - 2);
}

/* Adds another state of the same size. */
void exact_state_merge(exact_state *state, const exact_state *other) {
    const uint32_t flags = state->size.words - 1;
    for (uint32_t i = 0; i < flags; ++i)
        state->word[i] += other->word[i];
    state->word[flags] |= other->word[flags];
    gr_exact_carry(state->word, state->size.words - 2);
}

/* The bits of the sum in a format, divided by `divisor` and rounded to nearest, ties to even. */
uint64_t exact_state_round(const exact_state *state, uint64_t divisor, gr_exact_format format) {
    exact_state copy = *state;
    return gr_exact_result(copy.word, copy.size, divisor, format);
}
