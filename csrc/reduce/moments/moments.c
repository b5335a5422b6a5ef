/* Plans the kernel that computes moments from sums of powers. */
#include "reduce/moments/moments.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"

enum { ALIGNMENT = 256, MAX_BLOCKS = 1 << 16 };

uint64_t gr_moments_pitch(uint64_t results) {
    return gr_ceil_div(results * sizeof(double), ALIGNMENT) * ALIGNMENT;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_moments *self = request;
    const gr_moments_params *params = &self->params;
    (void)device;
    const uint32_t sums = gr_program_input(program, 0);
    const uint32_t out =
        gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)(params->pitch * (params->order + 1)));
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    step->kernel.owner = "moments";
    GR_KERNEL_NAME(step->kernel.file, "moments_of_sums");
    GR_KERNEL_NAME(step->kernel.entry, "moments_of_sums");
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(params->results, GR_MOMENTS_THREADS), MAX_BLOCKS);
    step->block[0] = GR_MOMENTS_THREADS;
    gr_program_relocate(program, offsetof(gr_moments_params, sums), sums);
    gr_program_relocate(program, offsetof(gr_moments_params, out), out);
}

gr_status gr_moments_run(gr_device *device, const gr_moments *self, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
