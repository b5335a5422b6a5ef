/* Planner of the products and quotients of weighted group sums and means: one launch each. */
#include "groups/weights/weights.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "groups/weights/params.h"

enum { BLOCKS_PER_SM = 16 }; /* at most: a thread takes several elements */

gr_dtype gr_products_dtype(const gr_products *self) {
    return self->wide ? GR_DTYPE_f64 : self->dtype;
}

uint64_t gr_products_parts(const gr_products *self) {
    return self->wide ? 1 : 2;
}

static gr_step *launch(gr_program *program, const void *params, size_t bytes, uint64_t elements) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(elements, GR_WEIGHT_THREADS),
                                     (uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM);
    step->block[0] = GR_WEIGHT_THREADS;
    step->kernel.owner = "group_reduce";
    GR_KERNEL_NAME(step->kernel.file, "group_weights");
    return step;
}

static uint64_t elements_of(const gr_products *self) {
    return self->lines * self->length * self->inner;
}

static void plan_products(const void *request, gr_device *device, gr_program *program) {
    const gr_products *self = request;
    (void)device;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    gr_products_params params = {.lines = self->lines, .length = self->length, .inner = self->inner};
    for (size_t i = 0; i < 3; ++i) {
        params.weight_strides[i] = self->weight_strides[i] / item;
        params.in_strides[i] = self->in_strides[i] / item;
    }
    gr_step *step = launch(program, &params, sizeof params, elements_of(self));
    GR_KERNEL_NAME(step->kernel.entry, "group_products_",
                   self->wide                    ? "wide"
                   : self->dtype == GR_DTYPE_f32 ? "f32"
                                                 : "f64");
    gr_program_relocate(program, offsetof(gr_products_params, weights), gr_program_input(program, 0));
    if (self->has_elements)
        gr_program_relocate(program, offsetof(gr_products_params, in), gr_program_input(program, 1));
    const size_t bytes =
        (size_t)(elements_of(self) * gr_products_parts(self)) * gr_dtypes[gr_products_dtype(self)].item_bytes;
    gr_program_relocate(program, offsetof(gr_products_params, out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes));
}

gr_status gr_products_run(gr_device *device, const gr_products *self, const gr_binding *binding,
                          const gr_interrupt *interrupt, gr_error *error) {
    if (elements_of(self) == 0)
        return GR_OK;
    return gr_execute_request(device, plan_products, self, binding, interrupt, error);
}

static void plan_quotients(const void *request, gr_device *device, gr_program *program) {
    const gr_quotients *self = request;
    (void)device;
    const gr_quotients_params params = {.count = self->count};
    gr_step *step = launch(program, &params, sizeof params, self->count);
    GR_KERNEL_NAME(step->kernel.entry, "group_quotients_", self->to == GR_DTYPE_f32 ? "f32" : "f64");
    gr_program_relocate(program, offsetof(gr_quotients_params, dividends), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_quotients_params, divisors), gr_program_input(program, 1));
    gr_program_relocate(
        program, offsetof(gr_quotients_params, out),
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)self->count * gr_dtypes[self->to].item_bytes));
}

gr_status gr_quotients_run(gr_device *device, const gr_quotients *self, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error) {
    if (self->count == 0)
        return GR_OK;
    return gr_execute_request(device, plan_quotients, self, binding, interrupt, error);
}
