/* What is asked of order statistics: a task, the lines, and the ranks or the number of first elements. */
#ifndef GR_ORDER_REQUEST_H
#define GR_ORDER_REQUEST_H

#include "base/dtypes.h"
#include "order/params.h"

typedef enum gr_order_task {
    GR_ORDER_TASK_SELECT,      /* the elements of each line's ranks */
    GR_ORDER_TASK_TOPK,        /* the first `k` elements and their indices */
    GR_ORDER_TASK_COUNT_VALID, /* the number of elements of each line that are not NaN, as int64 */
} gr_order_task;

/* Lines have `length` contiguous elements and follow each other. Input 0 is the elements. Results are in C
   order: of SELECT (lines, ranks), with `quantiles` (results, lines). */
typedef struct gr_order_request {
    gr_order_task task;
    gr_dtype dtype; /* not complex */
    uint64_t lines, length;
    uint64_t ranks; /* ranks per line, ascending and less than `length` */
    const int64_t
        *inline_ranks;   /* ranks of all lines, up to GR_ORDER_MAX_RANKS; NULL: input 1 has them as int64 */
    bool ranks_per_line; /* each line has its own ranks */
    bool valid_middle;   /* the two ranks of a line are those in the middle of its elements that are not NaN;
                            no others are given, and `quantiles` has one result */
    bool valid_quantile; /* the two ranks of a line are those around the quantile quantiles->weight[0] of its
                            elements that are not NaN; `quantiles` has one result, by linear interpolation */
    bool nans;           /* the results of a line with a NaN are NaN */
    const gr_order_quantiles
        *quantiles; /* interpolation between the selected elements; NULL: they are the results */
    uint64_t k;     /* elements per line of TOPK, whose int64 indices are written to input 1 */
    bool largest, sorted;
} gr_order_request;

/* The result of `valid_middle`: the mean of the two elements, or the one in the middle. */
#define GR_ORDER_MIDDLE_OF_VALID(dtype)                                                                      \
    ((gr_order_quantiles){                                                                                   \
        .ranks = 2, .results = 1, .mean = GR_ORDER_MIDPOINT, .to = (uint32_t)(dtype), .upper = {1}})

/* The result of `valid_quantile`, for a quantile from 0 to 1. */
#define GR_ORDER_QUANTILE_OF_VALID(q, dtype)                                                                 \
    ((gr_order_quantiles){.ranks = 2,                                                                        \
                          .results = 1,                                                                      \
                          .mean = GR_ORDER_LINEAR,                                                           \
                          .to = (uint32_t)(dtype),                                                           \
                          .upper = {1},                                                                      \
                          .weight = {(q)}})

#endif
