#include <math.h>
#include <stdlib.h>

#include "conv/columns.h"
#include "conv/common.h"
#include "conv/cores.h"
#include "conv/cudnn.h"
#include "conv/depthwise.h"
#include "conv/few.h"
#include "conv/narrow.h"
#include "conv/results.h"
#include "conv/ring.h"
#include "conv/taps.h"
#include "conv/tiles.h"
#include "conv/times.h"
#include "conv/winograd.h"
#include "feed/feed.h"

/* How a rung is laid out. */
typedef struct way {
    /* Whether it can be; NULL: always. */
    bool (*takes)(const gr_conv *self, const gr_conv_variant *variant);
    /* Appends the convolution, of x and w that lie as the rung takes them. */
    gr_status (*append)(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                        const gr_conv_ends *ends, gr_program *program, gr_error *error);
} way;

static const way ways[GR_CONV_WAYS] = {
    [GR_CONV_RESULTS] = {NULL, gr_conv_by_results},
    [GR_CONV_COLUMNS] = {gr_conv_columns_take, gr_conv_by_columns},
    [GR_CONV_PRODUCT] = {gr_conv_tiles_take, gr_conv_by_product},
    [GR_CONV_RECTANGLES] = {gr_conv_tiles_take, gr_conv_by_rectangles},
    [GR_CONV_ROWS] = {gr_conv_tiles_take, gr_conv_by_rows},
    [GR_CONV_CORES] = {gr_conv_tiles_take, gr_conv_by_cores},
    [GR_CONV_TAPS] = {gr_conv_tiles_take, gr_conv_by_taps},
    [GR_CONV_FEW] = {gr_conv_tiles_take, gr_conv_by_few},
    [GR_CONV_RING] = {gr_conv_ring_takes, gr_conv_by_ring},
    [GR_CONV_WINOGRAD] = {gr_conv_ring_takes, gr_conv_by_winograd},
    [GR_CONV_LIBRARY] = {gr_conv_cudnn_takes, gr_conv_by_cudnn},
};

static bool is_library(const gr_conv_variant *variant) {
    return variant != NULL && variant->rung.entry == GR_ENTRY_LIBRARY;
}

static bool takes(const gr_conv *self, const gr_conv_variant *variant) {
    const way *of = &ways[variant->way];
    return of->takes == NULL || of->takes(self, variant);
}

static bool can(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info) {
    gr_error ignored;
    return variant->rung.role != GR_ROLE_STUDY && !is_library(variant) &&
           gr_conv_covers(variant, self->dtype) && gr_rung_check(&variant->rung, info, &ignored) == GR_OK &&
           takes(self, variant);
}

/* Takes the rung of these precisions that is over before `least` microseconds, and first: the later one of
   equals. */
static void consider(const gr_conv *self, const gr_device_info *info, gr_precision one, gr_precision other,
                     const gr_conv_variant **out, double *least) {
    for (size_t i = 0; i < gr_conv_variant_count; ++i) {
        const gr_conv_variant *variant = &gr_conv_variants[i];
        if ((variant->precision != one && variant->precision != other) || !can(self, variant, info))
            continue;
        const double time = gr_conv_time(self, variant);
        if (time > *least)
            continue;
        *out = variant;
        *least = time;
    }
}

/* The rung that takes least time; where that is clearly one of plain float32, that one for TF32, too.
   GR_ERR_VALUE where none has the precision. */
static gr_status choose(const gr_conv *self, const gr_device_info *info, const gr_conv_variant **out,
                        gr_error *error) {
    static const double LONG = 20, CLEARLY = 0.85; /* microseconds: of a launch little can be reckoned */
    double least = HUGE_VAL;
    *out = NULL;
    consider(self, info, self->precision, GR_PRECISION_ANY, out, &least);
    if (*out == NULL)
        return gr_fail(error, GR_ERR_VALUE, "precision: %s of %s is not for %s",
                       gr_precisions[self->precision], gr_dtypes[self->dtype].numpy_name, info->name);
    least *= CLEARLY;
    if (self->precision == GR_PRECISION_TF32 && least > LONG)
        consider(self, info, GR_PRECISION_IEEE, GR_PRECISION_IEEE, out, &least);
    return GR_OK;
}

/* Whether a rung that the caller names can run. */
static gr_status check(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                       gr_error *error) {
    const gr_status status = gr_rung_check(&variant->rung, info, error);
    return status != GR_OK || takes(self, variant)
               ? status
               : gr_fail(error, GR_ERR_VALUE, "variant: %s does not take such a convolution; auto does",
                         variant->rung.name);
}

/* Has the result, which lies in memory of the program, copied to the output. */
static gr_status put(const gr_conv *self, uint32_t from, uint32_t out, gr_program *program, gr_error *error) {
    const gr_matmul flat = {
        .m = gr_conv_results(self) / self->along.out, .n = self->along.out, .stack = {1, 1, 1, 1}};
    return gr_matmul_put(&flat, gr_dtypes[self->dtype].item_bytes, from, out, program, error);
}

/* Appends the convolution by the rung that is named, or the best one. */
static gr_status by_rung(const gr_conv *self, const gr_device_info *info, const gr_conv_ends *ends,
                         gr_program *program, gr_error *error) {
    const gr_conv_variant *variant = self->variant;
    gr_conv plain = *self;
    gr_conv_ends at = *ends;
    gr_status status =
        variant != NULL ? check(self, variant, info, error) : choose(self, info, &variant, error);
    if (status == GR_OK && variant->lies == GR_CONV_DENSE)
        status = gr_conv_settle(&plain, &at, program, error);
    return status == GR_OK ? ways[variant->way].append(&plain, variant, info, &at, program, error) : status;
}

gr_status gr_conv_plan(const gr_conv *self, const gr_device_info *info, gr_program *program,
                       gr_error *error) {
    const size_t bytes = (size_t)gr_conv_results(self) * gr_dtypes[self->dtype].item_bytes;
    gr_program_begin(program);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    gr_conv plain = *self;
    const bool aside = self->aside || (is_library(self->variant) && !self->out_aligned);
    plain.out_aligned = self->out_aligned || aside;
    const gr_conv_ends ends = {
        .x = gr_program_input(program, 0),
        .w = gr_program_input(program, 1),
        .out = aside ? gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes) : out,
    };
    const gr_status status = gr_conv_is_depthwise(self)  ? gr_conv_by_depth(&plain, &ends, program, error)
                             : gr_conv_is_narrow(&plain) ? gr_conv_by_narrow(&plain, &ends, program, error)
                                                         : by_rung(&plain, info, &ends, program, error);
    return status == GR_OK && aside ? put(self, ends.out, out, program, error) : status;
}

gr_status gr_conv_run(gr_device *device, const gr_conv *self, const gr_binding *binding,
                      const gr_interrupt *interrupt, gr_error *error) {
    if (gr_conv_results(self) == 0)
        return GR_OK;
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    gr_status status = gr_conv_plan(self, &device->backend->info, program, error);
    if (status == GR_OK && is_library(self->variant))
        status = gr_cudnn_complete(device, program, error);
    if (status == GR_OK)
        status = gr_feed_program(device, program, binding, interrupt, error);
    free(program);
    return status;
}
