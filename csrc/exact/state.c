#include "exact/state.h"

#include <string.h>

void gr_exact_state_begin(gr_exact_state *state, gr_exact_size size) {
    memset(state->word, 0, sizeof state->word);
    state->size = size;
}

void gr_exact_state_add(gr_exact_state *state, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    gr_exact_add(state->word, state->size, bits);
    gr_exact_carry(state->word, state->size.words - 2);
}

void gr_exact_state_merge(gr_exact_state *state, const gr_exact_state *other) {
    const uint32_t flags = state->size.words - 1;
    for (uint32_t i = 0; i < flags; ++i)
        state->word[i] += other->word[i];
    state->word[flags] |= other->word[flags];
    gr_exact_carry(state->word, state->size.words - 2);
}

uint64_t gr_exact_state_round(const gr_exact_state *state, uint64_t divisor, gr_exact_format format) {
    gr_exact_state copy = *state;
    return gr_exact_result(copy.word, copy.size, divisor, format);
}
