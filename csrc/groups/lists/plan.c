/* Implements plan.h. */
#include "groups/lists/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "groups/lists/params.h"

enum {
    WARP = 32,
    EXPANSION_BYTES = 24,
    ROW_BYTES = 6,   /* of shared memory per row, */
    GROUP_BYTES = 8, /* and per group of a block */
    MAX_GROUPS = 256,
    MAX_ROWS = 4096,        /* of which the kernel is expected to be faster than others, */
    MAX_ELEMENTS = 1 << 16, /* or up to as many elements, */
    MAX_READS = 1 << 23,    /* if all blocks together read up to as many labels */
    ENOUGH_BLOCKS = 4 * 132,
    MANY_BLOCKS = 8 * 132,
};

/* Groups per block. */
static uint64_t share_of(const gr_groups *self) {
    if (self->partition_shift > 0)
        return (uint64_t)1 << self->partition_shift;
    return gr_max(gr_min(gr_ceil_div(self->lines * self->groups, MANY_BLOCKS), MAX_GROUPS), 1);
}

static uint64_t blocks_of(const gr_groups *self) {
    return self->lines * gr_ceil_div(self->groups, share_of(self));
}

bool gr_group_lists_fit(const gr_groups *self) {
    return (self->op == GR_OP_sum || self->op == GR_OP_mean) && !self->states &&
           gr_dtypes[self->dtype].kind != GR_KIND_BITS && self->length <= GR_GROUP_LISTS_MAX_ROWS &&
           self->lines <= GR_MAX_GRID && self->groups <= UINT32_MAX && self->inner <= UINT32_MAX / 2 &&
           blocks_of(self) <= GR_MAX_GRID;
}

bool gr_group_lists_are_faster(const gr_groups *self) {
    const bool columns = self->inner > 1 || gr_dtypes[self->dtype].kind == GR_KIND_COMPLEX;
    return columns && gr_group_lists_fit(self) &&
           (self->length <= MAX_ROWS || self->length * self->inner <= MAX_ELEMENTS) &&
           blocks_of(self) * self->length <= MAX_READS;
}

static uint32_t threads_of(const gr_groups *self) {
    return self->length <= 16 ? WARP : self->length <= 512 ? 128 : GR_GROUP_LISTS_MAX_THREADS;
}

void gr_group_lists_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                         gr_program *program) {
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    const uint32_t width = 1u << rows->columns_shift, threads = threads_of(self);
    const uint64_t tiles = gr_ceil_div(rows->inner, width),
                   enough = gr_ceil_div(ENOUGH_BLOCKS, blocks_of(self)),
                   splits = tiles <= 2 * enough ? tiles : enough;
    const gr_group_lists_params params = {
        .rows = *rows,
        .groups = (uint32_t)share_of(self),
        .line_blocks = (uint32_t)gr_ceil_div(self->groups, share_of(self)),
        .splits = (uint32_t)splits,
        .tiles = (uint32_t)gr_ceil_div(tiles, splits),
    };
    gr_step *step = gr_group_step(program, &params, sizeof params, caps, blocks_of(self));
    step->grid[1] = params.splits;
    step->block[0] = threads;
    const uint32_t words = of.item_bytes == 8 ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS;
    step->shared_bytes = threads / WARP * (words * 8 + width * EXPANSION_BYTES) +
                         params.groups * GROUP_BYTES + (uint32_t)self->length * ROW_BYTES;
    GR_KERNEL_NAME(step->kernel.file, "group_lists");
    GR_KERNEL_NAME(step->kernel.entry, "group_lists_", of.item_bytes == 8 ? "wide" : "narrow");
    const size_t bytes = (size_t)rows->results * of.item_bytes;
    gr_program_relocate(program, offsetof(gr_group_lists_params, rows.in), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_group_lists_params, rows.labels), gr_program_input(program, 1));
    gr_program_relocate(program, offsetof(gr_group_lists_params, rows.out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes));
}
