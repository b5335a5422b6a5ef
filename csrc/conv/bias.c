/* Plans the bias: one launch after the convolution, which adds it to the results in place. */
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { VEC16 = 16 }; /* bytes per load */

void gr_conv_add_bias(const gr_conv *self, gr_conv_job job) {
    const uint64_t pixels = self->height.out * self->width.out;
    const bool vectors = self->out_aligned;
    const uint64_t each = vectors ? VEC16 / gr_dtypes[self->dtype].item_bytes : 1; /* per thread */
    const gr_conv_bias_params params = {.count = gr_conv_output_count(self),
                                        .filters = self->groups * self->filters,
                                        .run = self->layout == GR_CONV_NHWC ? 1 : pixels,
                                        .stride = self->bias_stride};
    gr_step *step = gr_program_step(job.program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(job.program, offsetof(gr_conv_bias_params, out), job.out);
    gr_program_relocate(job.program, offsetof(gr_conv_bias_params, bias), gr_program_input(job.program, 2));
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_bias");
    GR_KERNEL_NAME(step->kernel.entry, "conv_bias_", gr_dtypes[self->dtype].name,
                   vectors ? "_vec16" : "_scalar");
    gr_conv_set_grid(job.program, step,
                     (gr_conv_grid){.x = gr_ceil_div(params.count, each * GR_CONV_BIAS_THREADS)},
                     GR_CONV_BIAS_THREADS);
}
