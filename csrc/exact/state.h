/* A sum that is exact, on the host: what the kernels leave, or what is added here. */
#ifndef GR_EXACT_STATE_H
#define GR_EXACT_STATE_H

#include <stddef.h>

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

/* ---- many states side by side, `count` of size.words words each ---- */

/* Makes carried states of such whose digits have more bits, as kernels leave them. */
void gr_exact_states_carry(int64_t *words, size_t count, gr_exact_size size);

/* Whether all are carried: digits of 32 bits, but for the last, which has a sign and 32 bits as well; a count
   below 2^63, and known flags. What is below takes and leaves such states. */
bool gr_exact_states_good(const int64_t *words, size_t count, gr_exact_size size);

/* Adds to each the other of its number. False, and nothing is done, where one would hold more than that. */
bool gr_exact_states_merge(int64_t *words, const int64_t *others, size_t count, gr_exact_size size);

/* Writes the bits of each, divided by its divisor, up to 2^63, and rounded as above. */
void gr_exact_states_round(const int64_t *words, const uint64_t *divisors, size_t count, gr_exact_size size,
                           gr_exact_format format, uint64_t *bits);

#endif
