/* Plans a convolution: chooses the rung (named by the caller, or the one with the smallest estimated time),
   copies operands whose layout it does not take, and appends its launches to a program. Runs that program. */
#include <math.h>
#include <stdlib.h>

#include "conv/cudnn.h"
#include "conv/internal.h"
#include "executor/executor.h"

/* What plan.c knows of an algorithm. */
typedef struct algorithm {
    /* Returns whether the rung can compute it; NULL: always. */
    bool (*supports)(const gr_conv *self, const gr_conv_variant *variant);
    gr_conv_append *append;
} algorithm;

static const algorithm algorithms[GR_CONV_ALGORITHMS] = {
    [GR_CONV_NAIVE] = {NULL, gr_conv_naive},
    [GR_CONV_IM2COL] = {gr_conv_im2col_supports, gr_conv_im2col},
    [GR_CONV_IMPLICIT_GEMM] = {gr_conv_fits_32_bits, gr_conv_implicit_gemm},
    [GR_CONV_DIRECT] = {gr_conv_fits_32_bits, gr_conv_direct},
    [GR_CONV_DIRECT_ROWS] = {gr_conv_fits_32_bits, gr_conv_direct_rows},
    [GR_CONV_TENSOR_CORES] = {gr_conv_fits_32_bits, gr_conv_tensor_cores},
    [GR_CONV_IMPLICIT_GEMM_TMA] = {gr_conv_fits_32_bits, gr_conv_implicit_gemm_tma},
    [GR_CONV_SMALL_C] = {gr_conv_fits_32_bits, gr_conv_small_c},
    [GR_CONV_IMPLICIT_GEMM_ASYNC] = {gr_conv_implicit_gemm_async_supports, gr_conv_implicit_gemm_async},
    [GR_CONV_WINOGRAD] = {gr_conv_implicit_gemm_async_supports, gr_conv_winograd},
    [GR_CONV_LIBRARY] = {gr_conv_cudnn_supports, gr_conv_cudnn},
};

static bool is_library(const gr_conv_variant *variant) {
    return variant != NULL && variant->rung.entry == GR_ENTRY_LIBRARY;
}

static bool supports(const gr_conv *self, const gr_conv_variant *variant) {
    const algorithm *of = &algorithms[variant->algorithm];
    return of->supports == NULL || of->supports(self, variant);
}

static bool is_candidate(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info) {
    gr_error ignored;
    return variant->rung.role != GR_ROLE_STUDY && !is_library(variant) &&
           gr_conv_supports_dtype(variant, self->dtype) &&
           gr_rung_check(&variant->rung, info, &ignored) == GR_OK && supports(self, variant);
}

/* Sets *out to the rung of one of two precisions with the smallest estimated time, if that is at most
 *best_time microseconds; of equal ones the last. */
static void consider(const gr_conv *self, const gr_device_info *info, gr_precision one, gr_precision other,
                     const gr_conv_variant **out, double *best_time) {
    for (size_t i = 0; i < gr_conv_variant_count; ++i) {
        const gr_conv_variant *variant = &gr_conv_variants[i];
        if ((variant->precision != one && variant->precision != other) || !is_candidate(self, variant, info))
            continue;
        const double time = gr_conv_estimate_time(self, variant);
        if (time > *best_time)
            continue;
        *out = variant;
        *best_time = time;
    }
}

/* Chooses the fastest rung of the precision. TF32 takes a rung of IEEE float32 if that is clearly faster.
   GR_ERR_VALUE if no rung has the precision. */
static gr_status choose(const gr_conv *self, const gr_device_info *info, const gr_conv_variant **out,
                        gr_error *error) {
    static const double LONG_US = 20,
                        FASTER_BY =
                            0.85; /* microseconds, below which estimates are too coarse; ratio of times */
    double best_time = HUGE_VAL;
    *out = NULL;
    consider(self, info, self->precision, GR_PRECISION_ANY, out, &best_time);
    if (*out == NULL)
        return gr_fail(error, GR_ERR_VALUE, "precision: %s of %s is not for %s",
                       gr_precisions[self->precision], gr_dtypes[self->dtype].numpy_name, info->name);
    best_time *= FASTER_BY;
    if (self->precision == GR_PRECISION_TF32 && best_time > LONG_US)
        consider(self, info, GR_PRECISION_IEEE, GR_PRECISION_IEEE, out, &best_time);
    return GR_OK;
}

/* GR_ERR_VALUE if the rung that the caller named cannot run. */
static gr_status check(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                       gr_error *error) {
    const gr_status status = gr_rung_check(&variant->rung, info, error);
    return status != GR_OK || supports(self, variant)
               ? status
               : gr_fail(error, GR_ERR_VALUE, "variant: %s does not take such a convolution; auto does",
                         variant->rung.name);
}

/* Appends a copy of the result from a temporary to the output. */
static gr_status copy_output(const gr_conv *self, uint32_t from, uint32_t out, gr_program *program,
                             gr_error *error) {
    const gr_matmul flat = {
        .m = gr_conv_output_count(self) / self->width.out, .n = self->width.out, .stack = {1, 1, 1, 1}};
    return gr_matmul_copy_output(&flat, gr_dtypes[self->dtype].item_bytes, from, out, program, error);
}

/* Appends the convolution by the named rung or the fastest one. */
static gr_status append_rung(const gr_conv *self, const gr_device_info *info,
                             const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    const gr_conv_variant *variant = self->variant;
    gr_conv plain = *self;
    gr_conv_operands at = *operands;
    gr_status status =
        variant != NULL ? check(self, variant, info, error) : choose(self, info, &variant, error);
    if (status == GR_OK && variant->layout_requirement == GR_CONV_DENSE)
        status = gr_conv_make_dense(&plain, &at, program, error);
    return status == GR_OK ? algorithms[variant->algorithm].append(&plain, variant, info, &at, program, error)
                           : status;
}

static gr_status plan(const gr_conv *self, const gr_device_info *info, gr_program *program, gr_error *error) {
    const size_t bytes = (size_t)gr_conv_output_count(self) * gr_dtypes[self->dtype].item_bytes;
    gr_program_begin(program);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    gr_conv plain = *self;
    const bool needs_temporary_output =
        self->needs_temporary_output || (is_library(self->variant) && !self->out_aligned);
    plain.out_aligned = self->out_aligned || needs_temporary_output;
    const gr_conv_operands operands = {
        .x = gr_program_input(program, 0),
        .w = gr_program_input(program, 1),
        .out = needs_temporary_output ? gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes) : out,
    };
    const gr_status status =
        gr_conv_prefers_depthwise(self)     ? gr_conv_depthwise(&plain, &operands, program, error)
        : gr_conv_prefers_pointwise(&plain) ? gr_conv_pointwise(&plain, &operands, program, error)
                                            : append_rung(&plain, info, &operands, program, error);
    return status == GR_OK && needs_temporary_output ? copy_output(self, operands.out, out, program, error)
                                                     : status;
}

gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error) {
    if (gr_conv_output_count(self) == 0)
        return GR_OK;
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    gr_status status = plan(self, &device->backend->info, program, error);
    if (status == GR_OK && is_library(self->variant))
        status = gr_cudnn_complete(device, program, error);
    if (status == GR_OK)
        status = gr_execute_program(device, program, binding, interrupt, error);
    free(program);
    return status;
}
