/* Planner of the labels of elements under a mask: one launch. */
#include "segments/labels/masked.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "segments/labels/params.h"

enum { BLOCKS_PER_SM = 16 }; /* at most: a block takes several tiles */

gr_dtype gr_masked_labels_dtype(const gr_masked_labels *self) {
    const double results = (double)self->lines * (double)self->groups * (double)self->inner;
    return results <= INT32_MAX ? GR_DTYPE_i32 : GR_DTYPE_i64;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_masked_labels *self = request;
    (void)device;
    const gr_dtype to = gr_masked_labels_dtype(self);
    gr_masked_labels_params params = {
        .label_stride = self->label_stride,
        .line_stride = self->line_stride,
        .row_stride = self->row_stride,
        .column_stride = self->column_stride,
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner,
        .groups = self->groups,
        .repeats = self->repeats,
        .label_bytes = self->by_offsets ? 0 : (uint32_t)gr_dtypes[self->label_dtype].item_bytes,
        .out_bytes = (uint32_t)gr_dtypes[to].item_bytes,
    };
    if (gr_dtype_is_signed_integer(self->label_dtype))
        params.sign = UINT64_C(1) << (8 * gr_dtypes[self->label_dtype].item_bytes - 1);
    const uint64_t elements = self->lines * self->length * self->repeats * self->inner;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(elements, GR_LABEL_THREADS),
                                     (uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM);
    step->block[0] = GR_LABEL_THREADS;
    step->kernel.owner = "group_reduce";
    GR_KERNEL_NAME(step->kernel.file, "label_mask");
    GR_KERNEL_NAME(step->kernel.entry, "label_mask");
    gr_program_relocate(program, offsetof(gr_masked_labels_params, labels), gr_program_input(program, 0));
    if (self->has_mask)
        gr_program_relocate(program, offsetof(gr_masked_labels_params, mask), gr_program_input(program, 1));
    gr_program_relocate(
        program, offsetof(gr_masked_labels_params, out),
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)elements * gr_dtypes[to].item_bytes));
}

gr_status gr_masked_labels_run(gr_device *device, const gr_masked_labels *self, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error) {
    if (self->lines * self->length * self->inner == 0)
        return GR_OK;
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
