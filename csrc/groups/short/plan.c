/* Implements plan.h. */
#include "groups/short/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "groups/short/params.h"

enum {
    WARP = 32,
    MAX_BLOCKS = 1 << 16,
    MAX_ROWS = 16384,    /* of which the kernel is expected to be faster than others, */
    MAX_READS = 1 << 18, /* if all blocks together read up to as many labels */
};

bool gr_short_groups_fit(const gr_groups *self) {
    return (self->op == GR_OP_sum || self->op == GR_OP_mean) && !self->states &&
           gr_dtypes[self->dtype].kind == GR_KIND_REAL && self->inner == 1 && self->length <= INT32_MAX &&
           self->groups <= MAX_BLOCKS && self->lines <= MAX_BLOCKS / self->groups;
}

bool gr_short_groups_are_faster(const gr_groups *self) {
    return gr_short_groups_fit(self) && self->length <= MAX_ROWS &&
           self->lines * self->groups * self->length <= MAX_READS;
}

/* Threads per block: each has GR_SHORT_GROUPS_IN_FLIGHT labels. */
static uint32_t threads_of(const gr_groups *self) {
    if (self->partition_shift > 0)
        return 1u << self->partition_shift;
    uint32_t threads = WARP;
    while (threads < GR_SHORT_GROUPS_MAX_THREADS && threads * GR_SHORT_GROUPS_IN_FLIGHT < self->length)
        threads *= 2;
    return threads;
}

void gr_short_groups_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                          gr_program *program) {
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    const gr_short_groups_params params = {.rows = *rows};
    gr_step *step = gr_group_step(program, &params, sizeof params, caps, self->lines * self->groups);
    step->block[0] = threads_of(self);
    step->shared_bytes = (of.item_bytes == 8 ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS) * 8;
    GR_KERNEL_NAME(step->kernel.file, "group_short");
    GR_KERNEL_NAME(step->kernel.entry, "group_short_", of.name);
    const size_t bytes = (size_t)rows->results * of.item_bytes;
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.in), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.labels), gr_program_input(program, 1));
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes));
}
