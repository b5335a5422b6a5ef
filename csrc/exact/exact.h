/* Exact sums, means and dot products: rounded once, so that they depend neither on the order of the elements
   nor on the grid. */
#ifndef GR_EXACT_EXACT_H
#define GR_EXACT_EXACT_H

#include "exact/params.h"
#include "exact/state.h"
#include "executor/executor.h"
#include "program/program.h"
#include "reduce/general/plan.h"
#include "reduce/ops.h"
#include "rungs/rung.h"

/* Its inputs are the elements and, when layout->has_second, a mask or the other vector of a dot product. */
typedef struct gr_exact {
    gr_op op;
    gr_dtype dtype;
    const gr_layout *layout;
    const gr_general_plan *plan; /* of that layout, not a single pass: its dimensions are taken */
    const void *initial;         /* an element of the result's dtype, or NULL: 0 */
    uint32_t fold;               /* additions to a bin between two folds, 0: as many as it holds exactly */
    uint32_t blocks;             /* that share a result, 0: as many as are best */
    bool squares;                /* of a dot product: the other vector is the first input, too */
    bool states;                 /* the results are states, as gr_exact_states_carry takes them */
} gr_exact;

enum { GR_EXACT_DIRECT_BYTES = 256 << 10 }; /* of the host, that kernels may read there */

/* Whether there are kernels for it. */
bool gr_exact_takes(gr_op op, gr_dtype dtype);
/* The states of a result of it: their size, and how many there are, one for each part of a number. */
gr_exact_size gr_exact_state_size(gr_op op, gr_dtype dtype, uint32_t *parts);

void gr_exact_plan(const gr_exact *exact, const gr_device_caps *caps, gr_program *program);

/* Nothing is done where there are no results. */
gr_status gr_exact_run(gr_device *device, const gr_exact *exact, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error);

/* ---- the ladder, whose rungs lead to that: sums of whole arrays of float32 ---- */

typedef struct gr_exact_variant {
    gr_rung rung;
    bool has_state;  /* its blocks hand over digits, and the sum is exact */
    uint32_t shared; /* bytes of a block */
} gr_exact_variant;

extern const gr_exact_variant gr_exact_variants[];
extern const size_t gr_exact_variant_count;

/* GR_ERR_VALUE lists the names. */
gr_status gr_exact_find(const char *name, const gr_exact_variant **out, gr_error *error);
bool gr_exact_covers(const gr_exact_variant *variant, gr_op op, gr_dtype dtype);

/* Sums `count` elements side by side. */
gr_status gr_exact_rung_run(gr_device *device, const gr_exact_variant *variant, uint64_t count,
                            const gr_source *source, const gr_interrupt *interrupt, gr_scalar *result,
                            gr_error *error);

#endif
