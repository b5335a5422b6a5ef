/* A sum that is exact, on the host: what the kernels leave, or what is added here. */
#ifndef GR_EXACT_STATE_H
#define GR_EXACT_STATE_H

#include "exact/params.h"

typedef struct gr_exact_state {
    gr_exact_size size;
    int64_t word[GR_EXACT_WIDEST_WORDS]; /* the first size.words of them, as in params.h */
} gr_exact_state;

/* The sum of nothing. */
void gr_exact_state_begin(gr_exact_state *state, gr_exact_size size);

/* Adds a number; to a narrow state, one that a float32 can hold. */
void gr_exact_state_add(gr_exact_state *state, double value);

/* Adds what another state of the same size holds. Any number of them may be merged. */
void gr_exact_state_merge(gr_exact_state *state, const gr_exact_state *other);

/* The bits in a format of what it holds, divided by `divisor` and rounded once, to nearest even. */
uint64_t gr_exact_state_round(const gr_exact_state *state, uint64_t divisor, gr_exact_format format);

#endif
