#include "conv/common.h"
#include "conv/results.h"

/* Appends a convolution by a rung, of x and w that lie as it takes them. */
typedef gr_status (*way)(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_ends *ends, gr_program *program, gr_error *error);

static const way ways[GR_CONV_WAYS] = {
    [GR_CONV_RESULTS] = gr_conv_by_results,
};

/* The best rung. GR_ERR_VALUE where none has the precision. */
static gr_status choose(const gr_conv *self, const gr_device_info *info, const gr_conv_variant **out,
                        gr_error *error) {
    gr_error ignored;
    for (size_t i = gr_conv_variant_count; i-- > 0;) {
        const gr_conv_variant *variant = &gr_conv_variants[i];
        if (variant->rung.role != GR_ROLE_RUNG || variant->precision != self->precision ||
            !gr_conv_covers(variant, self->dtype) || gr_rung_check(&variant->rung, info, &ignored) != GR_OK)
            continue;
        *out = variant;
        return GR_OK;
    }
    return gr_fail(error, GR_ERR_VALUE, "precision: %s of %s is not for %s", gr_precisions[self->precision],
                   gr_dtypes[self->dtype].numpy_name, info->name);
}

/* Has the result, which lies in memory of the program, copied to the output. */
static gr_status put(const gr_conv *self, uint32_t from, uint32_t out, gr_program *program, gr_error *error) {
    const gr_matmul flat = {
        .m = gr_conv_results(self) / self->along.out, .n = self->along.out, .stack = {1, 1, 1, 1}};
    return gr_matmul_put(&flat, gr_dtypes[self->dtype].item_bytes, from, out, program, error);
}

gr_status gr_conv_plan(const gr_conv *self, const gr_device_info *info, gr_program *program,
                       gr_error *error) {
    const size_t bytes = (size_t)gr_conv_results(self) * gr_dtypes[self->dtype].item_bytes;
    const gr_conv_variant *variant = self->variant;
    gr_program_begin(program);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    const gr_conv_ends ends = {
        .x = gr_program_input(program, 0),
        .w = gr_program_input(program, 1),
        .out = self->aside ? gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes) : out,
    };
    gr_status status =
        variant != NULL ? gr_rung_check(&variant->rung, info, error) : choose(self, info, &variant, error);
    if (status == GR_OK)
        status = ways[variant->way](self, variant, info, &ends, program, error);
    return status == GR_OK && self->aside ? put(self, ends.out, out, program, error) : status;
}

gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error) {
    gr_program program;
    if (gr_conv_results(self) == 0)
        return GR_OK;
    const gr_status status = gr_conv_plan(self, &device->backend->info, &program, error);
    return status == GR_OK ? gr_program_run(device, &program, binding, interrupt, error) : status;
}
