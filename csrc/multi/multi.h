/* Reductions of a list of arrays in one launch per dtype, and their multiplication by a common factor. All
   results are exact, or do not depend on an order: they have the same bits for any order and division of the
   list and on any device. */
#ifndef GR_MULTI_MULTI_H
#define GR_MULTI_MULTI_H

#include "base/dtypes.h"
#include "multi/params.h"
#include "program/program.h"

typedef enum gr_multi_op {
    GR_MULTI_SUM,         /* sums of elements */
    GR_MULTI_NORM1,       /* sums of magnitudes */
    GR_MULTI_NORM2,       /* roots of sums of squares */
    GR_MULTI_SQUARES,     /* states of sums of squares, GR_EXACT_WIDEST_WORDS int64 each */
    GR_MULTI_NORM2_STATE, /* the root of the sum of such states */
    GR_MULTI_MAX,         /* largest magnitudes */
    GR_MULTI_ALL_FINITE,
    GR_MULTI_FINGERPRINT,
    GR_MULTI_SCALE,
    GR_MULTI_OPS
} gr_multi_op;

extern const char *const gr_multi_op_names[GR_MULTI_OPS];

/* Rows of the table that belong to one launch: arrays of one dtype. */
typedef struct gr_multi_group {
    gr_dtype dtype;
    uint64_t first, arrays; /* rows of the table */
    uint64_t tiles;
} gr_multi_group;

/* Input 0 of the program is the table of arrays, in device memory; of NORM2_STATE the states, of SCALE input
   1 the norm. */
typedef struct gr_multi {
    gr_multi_op op;
    bool each;       /* a result per array instead of one of all */
    gr_dtype dtype;  /* of the results, or of the norm by which arrays are scaled */
    uint64_t count;  /* results or, of NORM2_STATE, states */
    uint64_t offset; /* position of the first word of a fingerprint */
    double max_norm, eps;
    uint32_t blocks; /* max. blocks of a launch, for tests; 0: chosen by the planner */
    size_t group_count;
    gr_multi_group groups[GR_DTYPE_COUNT];
} gr_multi;

/* Returns how many elements of a row of the table an element of a dtype is: 2 of complex128, else 1. */
uint64_t gr_multi_parts(gr_dtype dtype);

/* Returns the words of a fingerprint that the elements of a row fill; the last one may have bytes to spare.
 */
uint64_t gr_multi_words(gr_dtype dtype, uint64_t count);

/* Fills in the tiles of the rows of a group, whose first row is *rows, and the group's number of tiles. */
void gr_multi_divide(gr_multi_group *group, gr_multi_array *rows);

/* Plans and runs an operation. */
gr_status gr_multi_run(gr_device *device, const gr_multi *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error);

#endif
