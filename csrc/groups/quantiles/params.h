/* Parameters of the kernels of quantiles of groups. Read by C and CUDA. */
#ifndef GR_GROUPS_QUANTILES_PARAMS_H
#define GR_GROUPS_QUANTILES_PARAMS_H

#include <stdint.h>

enum { GR_GROUP_QUANTILE_THREADS = 256 };

/* Gathers labels in the order of the sorted elements. */
typedef struct gr_gather_labels_params {
    uint64_t labels;  /* address of int32 or int64 */
    uint64_t indices; /* address of int64: of each sorted element, its index */
    uint64_t out;     /* address of labels of the same dtype */
    uint64_t count;
    uint32_t label_bytes;
} gr_gather_labels_params;

/* Picks the quantile of each group from sorted elements. */
typedef struct gr_group_quantile_params {
    uint64_t sorted;   /* address of the elements in ascending order, NaNs last */
    uint64_t segments; /* address of int64: offsets of the groups, one more than groups, then the positions in
                          `sorted` of the elements of each group */
    uint64_t out;
    uint64_t groups;
    double q; /* from 0 to 1 */
} gr_group_quantile_params;

#endif
