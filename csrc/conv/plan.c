/* Plans a convolution: finds the rung that the caller named or that choice.c chooses, copies operands whose
 * layout it does not take, and appends its launches to a program. Runs that program. */
#include "conv/internal.h"
#include "executor/executor.h"

/* A row of the table of algorithms. The functions return whether a rung computes the convolution, and
   whether it does so by its own kernels rather than by those of another rung; NULL: always. */
typedef struct algorithm {
    bool (*supports)(const gr_conv *self);
    gr_conv_append *append;
    bool (*has_kernel)(const gr_conv *self);
    const char *fallback, *fallback_of_halves; /* names of the other rung */
} algorithm;

static const algorithm algorithms[GR_CONV_ALGORITHMS] = {
    [GR_CONV_NAIVE] = {.append = gr_conv_naive},
    [GR_CONV_IM2COL] = {.supports = gr_conv_im2col_supports, .append = gr_conv_im2col},
    [GR_CONV_IMPLICIT_GEMM] = {.supports = gr_conv_fits_32_bits, .append = gr_conv_implicit_gemm},
    [GR_CONV_DIRECT] = {.supports = gr_conv_fits_32_bits, .append = gr_conv_direct},
    [GR_CONV_DIRECT_ROWS] = {gr_conv_fits_32_bits, gr_conv_direct_rows, gr_conv_direct_rows_supports, "c3",
                             NULL},
    [GR_CONV_TENSOR_CORES] = {.supports = gr_conv_fits_32_bits, .append = gr_conv_tensor_cores},
    [GR_CONV_IMPLICIT_GEMM_TMA] = {gr_conv_fits_32_bits, gr_conv_implicit_gemm_tma,
                                   gr_conv_implicit_gemm_tma_supports, "c5", "c7"},
    [GR_CONV_SMALL_C] = {gr_conv_fits_32_bits, gr_conv_small_c, gr_conv_small_c_supports, "c5", "c7"},
    [GR_CONV_IMPLICIT_GEMM_ASYNC] = {.supports = gr_conv_implicit_gemm_async_supports,
                                     .append = gr_conv_implicit_gemm_async},
    [GR_CONV_WINOGRAD] = {gr_conv_implicit_gemm_async_supports, gr_conv_winograd, gr_conv_winograd_supports,
                          "c2_ring", NULL},
    [GR_CONV_LIBRARY] = {.supports = gr_conv_cudnn_supports, .append = gr_conv_cudnn},
};

static bool is_library(const gr_conv_variant *variant) {
    return variant != NULL && variant->rung.entry == GR_ENTRY_LIBRARY;
}

static bool supports(const gr_conv *self, const gr_conv_variant *variant) {
    const algorithm *of = &algorithms[variant->algorithm];
    return of->supports == NULL || of->supports(self);
}

static bool has_kernel(const gr_conv *self, const gr_conv_variant *variant) {
    const algorithm *of = &algorithms[variant->algorithm];
    return of->has_kernel == NULL || of->has_kernel(self);
}

bool gr_conv_is_candidate(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info) {
    gr_error ignored;
    return variant->rung.role != GR_ROLE_STUDY && !is_library(variant) &&
           gr_conv_supports_dtype(variant, self->dtype) &&
           gr_rung_check(&variant->rung, info, &ignored) == GR_OK && supports(self, variant) &&
           has_kernel(self, variant);
}

/* Records GR_ERR_VALUE if the rung that the caller named cannot run. */
static void check(const gr_conv *self, const gr_device_info *info, gr_program *program) {
    program->status = gr_rung_check(&self->variant->rung, info, program->error);
    if (!supports(self, self->variant))
        gr_program_fail(program, GR_ERR_VALUE, "variant: %s does not support this convolution; auto does",
                        self->variant->rung.name);
}

/* Appends the convolution by the named rung or the fastest one. */
static void append_rung(const gr_conv *self, gr_conv_job job) {
    gr_conv plain = *self;
    job.variant = self->variant;
    gr_conv_append *special = NULL;
    if (job.variant != NULL)
        check(self, job.info, job.program);
    else
        special = gr_conv_choose(self, &job);
    if (job.program->status != GR_OK)
        return;
    if (special != NULL) {
        special(self, job);
        return;
    }
    if (!has_kernel(self, job.variant)) {
        const algorithm *of = &algorithms[job.variant->algorithm];
        job.variant = gr_conv_rung(self->dtype == GR_DTYPE_f32 ? of->fallback : of->fallback_of_halves);
    }
    if (job.variant->layout_requirement == GR_CONV_DENSE)
        gr_conv_make_dense(&plain, &job);
    algorithms[job.variant->algorithm].append(&plain, job);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    gr_conv self = *(const gr_conv *)request;
    const uint64_t count = gr_conv_output_count(&self);
    const size_t item_bytes = gr_dtypes[self.dtype].item_bytes, bytes = (size_t)count * item_bytes;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    const bool needs_temporary_output =
        self.needs_temporary_output || (is_library(self.variant) && !self.out_aligned);
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
