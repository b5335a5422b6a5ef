/* Implements plan.h. */
#include "groups/short/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "groups/short/params.h"

enum {
    WARP = 32,
    BLOCKS_PER_SM = 4, /* of 256 threads */
    EXPANSION_BYTES = 24,
    MAX_BLOCKS = 1 << 16,
    MAX_ROWS = 4096,            /* of which the kernel is expected to be faster than others, */
    MAX_LABEL_READS = 1 << 18,  /* if all blocks together read up to as many labels: of one column, */
    MAX_NARROW_READS = 1 << 19, /* of fewer columns than a warp has lanes, */
    MAX_WIDE_READS = 1 << 23,   /* and of more columns */
    WIDE_THREADS = 128,         /* per block of wide rows of which groups have few on average */
    FEW_ROWS = 32,
    BLOCK_TILES = 2, /* tiles of columns per block, if the labels that are read allow it */
};

static uint32_t log2_up(uint64_t x) {
    uint32_t shift = 0;
    while (shift < 63 && (uint64_t)1 << shift < x)
        ++shift;
    return shift;
}

bool gr_short_groups_fit(const gr_groups *self) {
    return (self->op == GR_OP_sum || self->op == GR_OP_mean) && !self->states &&
           gr_dtypes[self->dtype].kind != GR_KIND_BITS && self->length <= GR_SHORT_GROUPS_MAX_ROWS &&
           self->groups <= MAX_BLOCKS && self->lines <= MAX_BLOCKS / self->groups;
}

bool gr_short_groups_are_faster(const gr_groups *self) {
    const uint64_t reads = self->lines * self->groups * self->length;
    const uint64_t most = self->inner == 1     ? MAX_LABEL_READS
                          : self->inner < WARP ? MAX_NARROW_READS
                                               : MAX_WIDE_READS;
    return gr_short_groups_fit(self) && self->length <= MAX_ROWS && reads <= most;
}

/* Threads per block: each has GR_SHORT_GROUPS_IN_FLIGHT labels, and about as many elements of an average
   group. */
static uint32_t threads_of(const gr_groups *self, uint32_t width) {
    if (self->partition_shift > 0)
        return 1u << self->partition_shift;
    const uint64_t elements =
        width == WARP ? 2 * self->length : gr_max(self->length, self->length * width / self->groups);
    const uint64_t wanted = (uint64_t)1 << log2_up(gr_ceil_div(elements, GR_SHORT_GROUPS_IN_FLIGHT));
    const bool few = self->inner >= WARP && self->length / self->groups < FEW_ROWS;
    return (uint32_t)gr_max(gr_min(wanted, few ? WIDE_THREADS : GR_SHORT_GROUPS_MAX_THREADS), WARP);
}

void gr_short_groups_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                          gr_program *program) {
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    gr_short_groups_params params = {.rows = *rows};
    const uint32_t width = 1u << rows->columns_shift;
    const uint64_t groups = self->lines * self->groups, tiles = gr_ceil_div(rows->inner, width);
    const uint64_t enough =
        gr_ceil_div((uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM, groups);
    const uint64_t affordable = MAX_WIDE_READS / gr_max(groups * self->length, 1);
    const uint64_t splits = gr_max(gr_min(gr_ceil_div(tiles, BLOCK_TILES), affordable), enough);
    params.splits = (uint32_t)gr_min(tiles, splits);
    const uint64_t blocks = groups * params.splits;
    const uint32_t threads = threads_of(self, width);
    gr_step *step = gr_group_step(program, &params, sizeof params, caps, blocks);
    step->block[0] = threads;
    const uint32_t words = of.item_bytes == 8 ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS;
    step->shared_bytes = threads / WARP * (words * 8 + width * EXPANSION_BYTES) +
                         (rows->inner > 1 ? (uint32_t)self->length * (uint32_t)sizeof(uint16_t) : 0);
    GR_KERNEL_NAME(step->kernel.file, "group_short");
    GR_KERNEL_NAME(step->kernel.entry, "group_short_", of.name);
    const size_t bytes = (size_t)rows->results * of.item_bytes;
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.in), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.labels), gr_program_input(program, 1));
    gr_program_relocate(program, offsetof(gr_short_groups_params, rows.out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes));
}
