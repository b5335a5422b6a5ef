/* Prefix sums, products and extremes along an axis (NumPy's cumulative_sum and ufunc.accumulate). Chooses
   among four kernels by layout and device: single-wave, persistent, columns of a short axis, and decoupled
   look-back over tiles. */
#ifndef GR_SCAN_SCAN_H
#define GR_SCAN_SCAN_H

#include "base/dtypes.h"
#include "program/program.h"

typedef enum gr_scan_op { GR_SCAN_SUM, GR_SCAN_PROD, GR_SCAN_MAX, GR_SCAN_MIN, GR_SCAN_OPS } gr_scan_op;

/* A scan of `length` elements in each of lines * inner columns. Results are in C order: lines, rows, inner.
 */
typedef struct gr_scan {
    gr_scan_op op;
    gr_dtype dtype; /* dtype of the elements */
    uint64_t lines, length, inner;
    int64_t line_stride, along_stride, inner_stride; /* bytes, multiples of the element size */
    bool initial;                                    /* a row of the identity precedes the results */
} gr_scan;

/* Returns the dtype of the results: of sums and products the dtype of a sum (dtypes.def), of extremes the
   dtype of the elements, which are not complex. */
gr_dtype gr_scan_result(gr_scan_op op, gr_dtype dtype);

extern const char *const gr_scan_names[GR_SCAN_OPS]; /* names of the public functions */

/* Returns the number of nodes of the look-back tree, of all levels, per column of a chain of tiles: see
   grid/lookback_tree.cuh. */
uint64_t gr_lookback_nodes(uint64_t tiles);

/* Plans and runs a scan of at least one element. */
gr_status gr_scan_run(gr_device *device, const gr_scan *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error);

#endif
