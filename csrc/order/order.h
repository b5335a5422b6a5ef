/* Order statistics of lines: the elements of given ranks, and the first ones in an order. */
#ifndef GR_ORDER_ORDER_H
#define GR_ORDER_ORDER_H

#include "base/dtypes.h"
#include "order/params.h"
#include "program/program.h"

typedef enum gr_order_task {
    GR_ORDER_SELECT, /* the elements of each line's ranks */
    GR_ORDER_FIRSTS, /* the first `k`, and where they stand */
    GR_ORDER_VALIDS, /* how many of each line are no NaN, in int64 */
} gr_order_task;

/* Of lines of `length` elements that lie side by side, one line behind the other. Input 0 has the elements.
   Results are in C order: of SELECT lines, ranks; with ends, results, lines. */
typedef struct gr_ordering {
    gr_order_task task;
    gr_dtype dtype; /* no complex one */
    uint64_t lines, length;
    uint64_t ranks;       /* of a line, which ascend, and are less than `length` */
    const int64_t *given; /* those of all lines, GR_ORDER_RANKS at most; NULL: input 1 has them, in int64 */
    bool own;             /* each line has ranks of its own */
    bool nans;            /* the results of a line that has a NaN are NaN */
    const gr_order_ends *ends; /* what is made of the elements; NULL: they are the results */
    uint64_t k;                /* input 1 is where the indices of FIRSTS go, in int64 */
    bool largest, sorted;
} gr_ordering;

/* Whether there are kernels for a dtype. */
bool gr_order_takes(gr_dtype dtype);

/* Of some elements and results. */
void gr_order_plan(const gr_ordering *self, gr_program *program);
gr_status gr_order_run(gr_device *device, const gr_ordering *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error);

#endif
