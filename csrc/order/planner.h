/* What the planners of order statistics share: the program that they make, and how they append a launch. */
#ifndef GR_ORDER_PLANNER_H
#define GR_ORDER_PLANNER_H

#include "base/limits.h"
#include "order/request.h"
#include "program/program.h"

enum {
    GR_ORDER_FEW_RANKS = 2,         /* ranks up to which histograms have the larger digit */
    GR_ORDER_MAX_ZEROED = 64 << 10, /* max. bytes of zero-initialised workspace */
};

/* Numbers of the launches' buffers. 0 is the input; in other fields it means that there is none. */
typedef struct gr_order_buffers {
    uint32_t in, ranks, out, indices, states, bins, tickets, counts;
    uint32_t window, list, list_indices, sample_tickets;
} gr_order_buffers;

typedef struct gr_order_planner {
    const gr_order_request *of;
    gr_program *program;
    gr_order_params params;
    gr_order_buffers at;
    uint32_t item; /* bytes per element */
    bool top;
    bool in_shared; /* a block that selects from a line holds it in shared memory */
} gr_order_planner;

/* Blocks that the reference device holds at once. */
static inline uint64_t gr_order_resident_blocks(void) {
    return (uint64_t)gr_reference_device.multiprocessors * GR_ORDER_BLOCKS_PER_SM;
}

/* Appends a launch of full blocks, which loop if they would be too many for a grid: the kernel
   order_<kernel>_<key> of cuda_kernels/order/auto/order_<file>.cu. */
gr_step *gr_order_append(gr_order_planner *self, const char *file, const char *kernel, uint64_t blocks,
                         const void *params, size_t bytes);

/* The same, with gr_order_params and the addresses of the buffers in `at`. */
gr_step *gr_order_launch(gr_order_planner *self, const char *file, const char *kernel, uint64_t blocks,
                         const gr_order_params *params);

#endif
