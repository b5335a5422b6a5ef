/* Running sums and products along an axis. */
#ifndef GR_SCAN_SCAN_H
#define GR_SCAN_SCAN_H

#include "base/dtypes.h"
#include "program/program.h"

typedef enum gr_scan_op { GR_SCAN_SUM, GR_SCAN_PROD, GR_SCAN_OPS } gr_scan_op;

/* Of `length` elements in each of lines x inner; results are in C order: lines, rows, inner. */
typedef struct gr_scan {
    gr_scan_op op;
    gr_dtype dtype; /* of the elements; results have its dtype of sums */
    uint64_t lines, length, inner;
    int64_t line_stride, along_stride, inner_stride; /* bytes, whole elements */
    bool initial;                                    /* a row of the results of no elements comes first */
} gr_scan;

extern const char *const gr_scan_names[GR_SCAN_OPS]; /* of the operators, as the public functions' */

/* How many nodes a column of so many tiles has: those of prefix_tree.cuh, of all levels. */
uint64_t gr_chain_nodes(uint64_t tiles);

/* Of elements that are there, for a device that can so much. */
void gr_scan_plan(const gr_scan *self, const gr_device_caps *caps, gr_program *program);
gr_status gr_scan_run(gr_device *device, const gr_scan *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error);

#endif
