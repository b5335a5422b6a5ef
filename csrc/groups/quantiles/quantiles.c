/* Planner of quantiles of groups: one launch that gathers labels, and one that picks elements. */
#include "groups/quantiles/quantiles.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "groups/quantiles/params.h"

enum { BLOCKS_PER_SM = 16 }; /* at most: a thread takes several labels, or groups */

static gr_step *launch(gr_program *program, const void *params, size_t bytes, uint64_t items) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(items, GR_GROUP_QUANTILE_THREADS),
                                     (uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM);
    step->block[0] = GR_GROUP_QUANTILE_THREADS;
    step->kernel.owner = "group_reduce";
    GR_KERNEL_NAME(step->kernel.file, "group_quantile");
    return step;
}

static void plan_gather(const void *request, gr_device *device, gr_program *program) {
    const gr_gather_labels *self = request;
    (void)device;
    const gr_gather_labels_params params = {.count = self->count,
                                            .label_bytes = (uint32_t)gr_dtypes[self->dtype].item_bytes};
    gr_step *step = launch(program, &params, sizeof params, self->count);
    GR_KERNEL_NAME(step->kernel.entry, "group_gather_labels");
    gr_program_relocate(program, offsetof(gr_gather_labels_params, labels), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_gather_labels_params, indices), gr_program_input(program, 1));
    gr_program_relocate(
        program, offsetof(gr_gather_labels_params, out),
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)self->count * params.label_bytes));
}

gr_status gr_gather_labels_run(gr_device *device, const gr_gather_labels *self, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error) {
    if (self->count == 0)
        return GR_OK;
    return gr_execute_request(device, plan_gather, self, binding, interrupt, error);
}

static void plan_quantile(const void *request, gr_device *device, gr_program *program) {
    static const char *const names[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f32] = "f32", [GR_DTYPE_f64] = "f64", [GR_DTYPE_f16] = "f16", [GR_DTYPE_bf16] = "bf16"};
    const gr_group_quantile *self = request;
    (void)device;
    const gr_group_quantile_params params = {.groups = self->groups, .q = self->q};
    gr_step *step = launch(program, &params, sizeof params, self->groups);
    GR_KERNEL_NAME(step->kernel.entry, "group_quantile_", names[self->dtype]);
    gr_program_relocate(program, offsetof(gr_group_quantile_params, sorted), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_group_quantile_params, segments), gr_program_input(program, 1));
    gr_program_relocate(program, offsetof(gr_group_quantile_params, out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT,
                                          (size_t)self->groups * gr_dtypes[self->dtype].item_bytes));
}

gr_status gr_group_quantile_run(gr_device *device, const gr_group_quantile *self, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_error *error) {
    if (self->groups == 0)
        return GR_OK;
    return gr_execute_request(device, plan_quantile, self, binding, interrupt, error);
}
