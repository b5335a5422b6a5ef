/* Exact sums, means and dot products: the result is rounded once, so it depends neither on the order of the
   elements nor on the grid. The method is a superaccumulator (Kulisch; Neal; Collange et al.); the ladder e0
   to e4 leads to it. */
#ifndef GR_EXACT_EXACT_H
#define GR_EXACT_EXACT_H

#include "exact/params.h"
#include "executor/executor.h"
#include "program/program.h"
#include "reduce/general/plan.h"
#include "reduce/ops.h"
#include "rungs/rung.h"
#include "scan/scan.h"

/* Input 0 is the elements; if layout->has_second, input 1 is a mask or the second vector of a dot product.
 */
typedef struct gr_exact {
    gr_op op;
    gr_dtype dtype;
    const gr_layout *layout;
    const gr_general_plan
        *plan;           /* made from `layout`, not for a single pass; its merged dimensions are used */
    const void *initial; /* an element of the result's dtype, or NULL: 0 */
    uint32_t
        fold; /* additions to a bin between two folds into digits; 0: the number that a bin holds exactly */
    uint32_t blocks; /* blocks per result; 0: chosen by the planner */
    bool squares;    /* a dot product of the first input with itself */
    bool states;     /* the results are states, in the format that gr_exact_states_normalise accepts */
} gr_exact;

/* Whether there are kernels for the operator on elements of this dtype. */
bool gr_exact_takes(gr_op op, gr_dtype dtype);
/* Returns the size of a result's states, and writes their number to *parts: one per component (real,
   imaginary). */
gr_exact_size gr_exact_state_size(gr_op op, gr_dtype dtype, uint32_t *parts);

/* Plans the program of a gr_exact that has at least one result. */
gr_planner gr_exact_plan;

/* Does nothing if there are no results. */
gr_status gr_exact_run(gr_device *device, const gr_exact *exact, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error);

/* ---- cumulative sums, each of which is rounded once ---- */

/* Whether there are kernels for elements of this dtype. */
bool gr_exact_scan_takes(gr_dtype dtype);

/* Runs a scan by GR_SCAN_SUM of at least one element. */
gr_status gr_exact_scan_run(gr_device *device, const gr_scan *scan, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error);

/* ---- arrays of `count` states of size.words words each, on the host ---- */

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

/* Normalised states of the sums and the sums of squares of results. */
typedef struct gr_exact_variances {
    const uint64_t *counts; /* of the elements of each result, up to 2^62; unused for norms */
    const int64_t *sums; /* `parts` (real, imaginary) states per result; NULL: norms, roots of the squares */
    const int64_t *squares; /* one state per result */
    uint32_t parts;
    gr_exact_size sum_size, square_size;
    gr_exact_format format;
    int64_t ddof; /* -2^62 to 2^62 */
    bool root;    /* standard deviations; true also for norms */
} gr_exact_variances;

/* Writes the bits of `count` results, each rounded once. A variance without degrees of freedom is infinite,
   or NaN if all elements are equal. */
void gr_exact_variances_round(const gr_exact_variances *self, size_t count, uint64_t *bits);

/* ---- the ladder: sums of contiguous float32 ---- */

typedef struct gr_exact_variant {
    gr_rung rung;
    bool has_state;  /* blocks publish digits of a superaccumulator, and the sum is exact */
    uint32_t shared; /* bytes of dynamic shared memory per block */
} gr_exact_variant;

extern const gr_exact_variant gr_exact_variants[];
extern const gr_ladder gr_exact_ladder;

bool gr_exact_covers(const gr_exact_variant *variant, gr_op op, gr_dtype dtype);

/* Plans and runs a rung on `count` contiguous elements at *source, and writes the sum to *result. */
gr_status gr_exact_rung_run(gr_device *device, const gr_exact_variant *variant, uint64_t count,
                            const gr_source *source, const gr_interrupt *interrupt, gr_scalar *result,
                            gr_error *error);

#endif
