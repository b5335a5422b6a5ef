/* Superaccumulator states on the host: merges, checks and rounds the states that kernels write and Python
   stores, and adds single numbers. */
#ifndef GR_EXACT_STATE_H
#define GR_EXACT_STATE_H

#include <stddef.h>

#include "exact/superaccumulator.h"

typedef struct gr_exact_state {
    gr_exact_size size;
    int64_t word[GR_EXACT_WIDEST_WORDS]; /* the first size.words of them are used, as in superaccumulator.h */
} gr_exact_state;

/* Sets the state to the empty sum. */
void gr_exact_state_begin(gr_exact_state *state, gr_exact_size size);

/* Adds a number. A narrow state accepts only values of a float32. */
void gr_exact_state_add(gr_exact_state *state, double value);

/* Adds another state of the same size. Any number of states may be merged. */
void gr_exact_state_merge(gr_exact_state *state, const gr_exact_state *other);

/* The bits of the sum in a format, divided by `divisor` and rounded to nearest, ties to even. */
uint64_t gr_exact_state_round(const gr_exact_state *state, uint64_t divisor, gr_exact_format format);

/* ---- arrays of `count` states of size.words words each ---- */

/* Propagates the carries of states that kernels wrote. */
void gr_exact_states_normalise(int64_t *words, size_t count, gr_exact_size size);

/* Whether all states are normalised: digits of 32 bits, but for the last, which is a signed number of 32
   bits; a count below 2^63; known flags. The functions below require and produce such states. */
bool gr_exact_states_are_normalised(const int64_t *words, size_t count, gr_exact_size size);

/* Adds others[i] to states[i]. Returns false, and changes nothing, if a sum would not be normalised. */
bool gr_exact_states_merge(int64_t *words, const int64_t *others, size_t count, gr_exact_size size);

/* Writes the bits of each state divided by its divisor, which is at most 2^63, rounded to nearest, ties to
   even. */
void gr_exact_states_round(const int64_t *words, const uint64_t *divisors, size_t count, gr_exact_size size,
                           gr_exact_format format, uint64_t *bits);

#endif
