/* The algorithms of the rungs: which convolutions they compute, and which functions append their launches. */
#include "conv/internal.h"

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

bool gr_conv_is_library(const gr_conv_variant *variant) {
    return variant != NULL && variant->rung.entry == GR_ENTRY_LIBRARY;
}

bool gr_conv_supports(const gr_conv *self, const gr_conv_variant *variant) {
    const algorithm *of = &algorithms[variant->algorithm];
    return of->supports == NULL || of->supports(self);
}

static bool has_kernel(const gr_conv *self, const gr_conv_variant *variant) {
    const algorithm *of = &algorithms[variant->algorithm];
    return of->has_kernel == NULL || of->has_kernel(self);
}

bool gr_conv_is_candidate(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info) {
    gr_error ignored;
    return variant->rung.role != GR_ROLE_STUDY && !gr_conv_is_library(variant) &&
           gr_conv_supports_dtype(variant, self->dtype) &&
           gr_rung_check(&variant->rung, info, &ignored) == GR_OK && gr_conv_supports(self, variant) &&
           has_kernel(self, variant);
}

void gr_conv_append_variant(const gr_conv *self, gr_conv_job job) {
    gr_conv dense = *self;
    if (!has_kernel(self, job.variant)) {
        const algorithm *of = &algorithms[job.variant->algorithm];
        job.variant = gr_conv_rung(self->dtype == GR_DTYPE_f32 ? of->fallback : of->fallback_of_halves);
    }
    if (job.variant->layout_requirement == GR_CONV_DENSE)
        gr_conv_make_dense(&dense, &job);
    algorithms[job.variant->algorithm].append(&dense, job);
}
