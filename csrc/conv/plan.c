/* Plans a convolution: appends the launches of the kernel that the caller named or that choice.c chooses to a
 * program, and runs the program. */
#include "conv/internal.h"
#include "executor/executor.h"

/* Records GR_ERR_VALUE if the rung that the caller named cannot run. */
static void check(const gr_conv *self, const gr_device_info *info, gr_program *program) {
    program->status = gr_rung_check(&self->variant->rung, info, program->error);
    if (!gr_conv_supports(self, self->variant))
        gr_program_fail(program, GR_ERR_VALUE, "variant: %s does not support this convolution; auto does",
                        self->variant->rung.name);
}

/* Appends the convolution by the named rung or the fastest one. */
static void append_rung(const gr_conv *self, gr_conv_job job) {
    job.variant = self->variant;
    gr_conv_append *special = NULL;
    if (job.variant != NULL)
        check(self, job.info, job.program);
    else
        special = gr_conv_choose(self, &job);
    if (job.program->status != GR_OK)
        return;
    if (special != NULL)
        special(self, job);
    else
        gr_conv_append_variant(self, job);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    gr_conv self = *(const gr_conv *)request;
    const uint64_t count = gr_conv_output_count(&self);
    const size_t item_bytes = gr_dtypes[self.dtype].item_bytes, bytes = (size_t)count * item_bytes;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    const bool needs_temporary_output =
        self.needs_temporary_output || (gr_conv_is_library(self.variant) && !self.out_aligned);
    self.out_aligned = self.out_aligned || needs_temporary_output;
    gr_conv_job job = {.info = &device->backend->info, .program = program, .out = out};
    job.x = gr_program_input(program, 0);
    job.w = gr_program_input(program, 1);
    if (needs_temporary_output)
        job.out = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    if (gr_conv_prefers_depthwise(&self))
        gr_conv_depthwise(&self, job);
    else if (gr_conv_prefers_pointwise(&self))
        gr_conv_pointwise(&self, job);
    else
        append_rung(&self, job);
    if (self.has_bias)
        gr_conv_add_bias(&self, job);
    if (needs_temporary_output)
        gr_matmul_copy_output(count, self.width.out, item_bytes, job.out, out, program);
}

gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error) {
    if (gr_conv_output_count(self) == 0)
        return GR_OK;
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
