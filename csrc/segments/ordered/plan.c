/* Plans variances, products and logsumexp of segments: how many columns share a warp, and into how many
   ranges the rows are divided. Results depend on neither. */
#include "segments/ordered/plan.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "segments/ordered/params.h"
#include "segments/params.h"

_Static_assert(sizeof(gr_ordered_params) <= GR_MAX_PATCHED_PARAMS,
               "a backend writes `first` in a copy of them");

enum {
    BEGIN_WEIGHT = 16,     /* rows that take as long as a segment */
    MAX_COLUMNS_SHIFT = 3, /* of the columns that share a warp */
    WIDE_ITEMS = 1 << 22,  /* elements and weights per column of a warp, from which twice as many share it */
};

/* How many columns share a warp: few, where warps are few. */
static uint32_t columns_shift_of(const gr_segments *self, uint64_t items) {
    uint32_t shift = 0;
    while (shift < MAX_COLUMNS_SHIFT && (uint64_t)1 << shift < self->inner &&
           (shift == 0 || items * self->lines * self->inner >> shift > WIDE_ITEMS))
        ++shift;
    return shift;
}

static gr_ordered_params params_of(const gr_segments *self, uint32_t flags, uint32_t blocks_per_sm) {
    const gr_dtype to = gr_op_result(self->op, self->dtype);
    gr_ordered_params params = {
        .permutation = self->permuted_rows > 0 ? self->segments + 1 : 0,
        .rows = self->permuted_rows > 0 ? self->permuted_rows : self->length,
        .segments = self->segments,
        .inner = self->inner,
        .line_stride = self->line_stride,
        .along_stride = self->along_stride,
        .inner_stride = self->inner_stride,
        .ddof = self->ddof,
        .from = (uint32_t)self->dtype,
        .to = (uint32_t)to,
        .flags = flags,
        .weight = BEGIN_WEIGHT,
        .result_bytes = (uint32_t)gr_dtypes[to].item_bytes,
        .root = gr_op_has(self->op, GR_ROOT),
        .nan_of_few = flags & GR_SEGMENT_SKIP_NAN && gr_dtypes[self->dtype].kind != GR_KIND_BITS,
    };
    memcpy(params.empty_result, &self->empty_result, sizeof params.empty_result);
    const uint64_t items = params.rows + params.weight * self->segments;
    params.columns_shift = columns_shift_of(self, items);
    params.dense = params.permutation == 0 && params.columns_shift == 0 &&
                   self->along_stride == (int64_t)gr_dtypes[self->dtype].item_bytes;
    params.stripes = gr_ceil_div(self->inner, (uint64_t)1 << params.columns_shift);
    const uint64_t chains = self->lines * params.stripes,
                   resident =
                       (uint64_t)gr_reference_device.multiprocessors * blocks_per_sm * GR_ORDERED_WARPS;
    params.line_ranges =
        gr_min(resident / chains, gr_ceil_div(items, GR_ORDERED_MIN_RANGE >> params.columns_shift));
    params.line_ranges = gr_max(gr_max(params.line_ranges, gr_ceil_div(items, GR_ORDERED_MAX_RANGE)), 1);
    params.ranges = chains * params.line_ranges;
    params.blocks = (uint32_t)gr_ceil_div(params.ranges, GR_ORDERED_WARPS);
    params.inverse_ranges = 1 / (double)params.line_ranges;
    params.segments_per_range = (double)self->segments / (double)params.line_ranges;
    params.chain_chunks = 2 * ((params.rows >> GR_ORDERED_CHUNK_SHIFT) + 1);
    return params;
}

void gr_ordered_segments_plan(const gr_segments *self, const char *op, const char *kind, uint32_t flags,
                              const gr_device_caps *caps, gr_program *program) {
    const size_t state_bytes = gr_op_is_variance(self->op)                                       ? 32
                               : self->op == GR_OP_logsumexp || gr_dtype_is_complex(self->dtype) ? 16
                                                                                                 : 8;
    const gr_ordered_params params =
        params_of(self, flags, state_bytes > 8 ? GR_ORDERED_BLOCKS_PER_SM : GR_ORDERED_SMALL_BLOCKS_PER_SM);
    const size_t results = (size_t)(self->lines * self->segments * self->inner),
                 chunks = (size_t)(params.ranges / params.line_ranges * params.chain_chunks)
                          << params.columns_shift;
    const uint32_t in = gr_program_input(program, 0), offsets = gr_program_input(program, 1),
                   out = gr_program_buffer(program, GR_BUFFER_OUTPUT, results * params.result_bytes);
    const bool has_chunks = params.rows > GR_ORDERED_CHUNK, waits = has_chunks && params.line_ranges > 1;
    const uint32_t states =
        has_chunks ? gr_program_buffer(program, GR_BUFFER_TEMPORARY, chunks * state_bytes) : 0;
    const uint32_t slots =
        waits ? gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)params.blocks * GR_ORDERED_SLOT_BYTES)
              : 0;
    const bool is_wide =
        params.columns_shift > 0 || state_bytes == 16; /* of these there is one kernel each */
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = params.blocks;
    step->block[0] = 32 * GR_ORDERED_WARPS;
    step->first_block_offset = waits ? offsetof(gr_ordered_params, first) : 0;
    step->pdl = caps->capability >= GR_HOPPER;
    step->kernel.owner = gr_ops[self->op].name;
    GR_KERNEL_NAME(step->kernel.file, self->op == GR_OP_logsumexp ? "ordered_logsumexp" : "ordered");
    GR_KERNEL_NAME(step->kernel.entry, "ordered_", op, "_", kind, is_wide ? "_wide" : "");
    gr_program_relocate(program, offsetof(gr_ordered_params, in), in);
    gr_program_relocate(program, offsetof(gr_ordered_params, offsets), offsets);
    gr_program_relocate(program, offsetof(gr_ordered_params, out), out);
    if (has_chunks)
        gr_program_relocate(program, offsetof(gr_ordered_params, chunks), states);
    if (waits)
        gr_program_relocate(program, offsetof(gr_ordered_params, slots), slots);
}
