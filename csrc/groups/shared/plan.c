/* Implements plan.h. */
#include "groups/shared/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "groups/shared/params.h"

enum {
    MAX_BYTES = 72 << 10,      /* of shared memory per block: an SM holds three blocks */
    COUNTER_BYTES = 8,         /* per group, of its rows and flags */
    MAX_ROWS = 1 << 14,        /* of which the kernel is expected to be faster than others, */
    MANY_GROUPS = 64,          /* in this number of groups and more, */
    MAX_ROWS_OF_FEW = 1 << 13, /* or in fewer groups, to which additions wait for each other */
    MAX_BLOCKS = 1 << 12,
    FEW_ROWS = 512,
    FEW_ROWS_THREADS = 256,
};

static uint64_t group_bytes(const gr_group_kind *of) {
    return of->planes * sizeof(int64_t) + COUNTER_BYTES;
}

/* Groups per block. */
static uint64_t share_of(const gr_groups *self, const gr_group_kind *of) {
    const uint64_t even = self->partition_shift > 0
                              ? (uint64_t)1 << self->partition_shift
                              : gr_ceil_div(self->groups, gr_reference_device.multiprocessors);
    return gr_max(gr_min(even, MAX_BYTES / group_bytes(of)), 1);
}

bool gr_shared_groups_fit(const gr_groups *self) {
    return (self->op == GR_OP_sum || self->op == GR_OP_mean) && !self->states && self->lines == 1 &&
           self->inner == 1 && gr_dtypes[self->dtype].kind == GR_KIND_REAL &&
           self->length <= GR_SHARED_GROUPS_MAX_ROWS;
}

bool gr_shared_groups_are_faster(const gr_groups *self) {
    if (!gr_shared_groups_fit(self) ||
        self->length > (self->groups < MANY_GROUPS ? MAX_ROWS_OF_FEW : MAX_ROWS))
        return false;
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    return gr_ceil_div(self->groups, share_of(self, &of)) <= MAX_BLOCKS;
}

void gr_shared_groups_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                           gr_program *program) {
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    const gr_shared_groups_params params = {.rows = *rows, .groups = (uint32_t)share_of(self, &of)};
    gr_step *step =
        gr_group_step(program, &params, sizeof params, caps, gr_ceil_div(self->groups, params.groups));
    step->block[0] = self->length <= FEW_ROWS ? FEW_ROWS_THREADS : GR_SHARED_GROUPS_MAX_THREADS;
    step->shared_bytes = (uint32_t)gr_ceil_div(params.groups * group_bytes(&of), 16) * 16;
    GR_KERNEL_NAME(step->kernel.file, "group_shared");
    GR_KERNEL_NAME(step->kernel.entry, "group_shared_", of.name);
    const size_t bytes = (size_t)rows->results * of.item_bytes;
    gr_program_relocate(program, offsetof(gr_shared_groups_params, rows.in), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_shared_groups_params, rows.labels),
                        gr_program_input(program, 1));
    gr_program_relocate(program, offsetof(gr_shared_groups_params, rows.out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes));
}
