/* Functions that the planners of convolutions share within this folder. The .c files of algorithms append the
   launches of one or more rungs to a program; plan.c chooses between them by cost_model.c. */
#ifndef GR_CONV_INTERNAL_H
#define GR_CONV_INTERNAL_H

#include "conv/conv.h"

/* ---- the order of addition ---- */

/* Kernels of one order add up the products of a result in the same order, with the same bits. `k` is numbered
   as w lies: taps and then channels in NHWC, channels and then taps in NCHW. */
typedef enum gr_conv_order_kind {
    GR_CONV_ORDER_ANY,
    GR_CONV_ORDER_FMA,     /* fused multiply-adds of float32 in the order of k */
    GR_CONV_ORDER_K_STEPS, /* k-steps of tensor cores in the order of k */
    GR_CONV_ORDER_SHARED,  /* of the tiles of gr_conv_small whose threads share k */
    GR_CONV_ORDER_FEW,     /* of gr_conv_few, whose warps share k */
    GR_CONV_ORDER_TMA,     /* of c8 and c9 with `number` parts of k */
    GR_CONV_ORDER_RUNG     /* of the rung with the index `number`, whose kernels have one order */
} gr_conv_order_kind;

typedef struct gr_conv_order {
    gr_conv_order_kind kind;
    uint32_t number;
} gr_conv_order;

/* Where a convolution is appended: by which rung, for which device, to which buffers of a program. x and w
   are inputs or copies of inputs, out is the output or a temporary. */
typedef struct gr_conv_job {
    const gr_conv_variant *variant;
    const gr_device_info *info;
    gr_program *program;
    uint32_t x, w, out;
    gr_conv_order order; /* of the kernels among which the planner of an algorithm chooses */
    uint32_t parts;      /* of k, in c8 and c9, and one in c1; 0: any number */
} gr_conv_job;

/* Signature of all functions that append a convolution by the rung of the job, which has a kernel for it. x
   and w meet the layout requirement of the rung. */
typedef void gr_conv_append(const gr_conv *self, gr_conv_job job);

/* ---- common.c ---- */

/* Returns the kernel parameters of a convolution; buffer addresses are 0. */
gr_conv_params gr_conv_make_params(const gr_conv *self);

/* Thread blocks of a launch along each axis; 0 counts as 1. */
typedef struct gr_conv_grid {
    uint64_t x, y, z;
} gr_conv_grid;

/* Appends a launch of the kernel "<rung>_<dtype><form>" with parameters that begin with a gr_conv_params,
   relocations for its three addresses, and blocks of variant->threads threads. */
gr_step *gr_conv_launch(const gr_conv *self, const gr_conv_job *job, const char *form, const void *params,
                        size_t bytes, gr_conv_grid grid);

/* Returns the rung of this name, which exists: planners fall back to it. */
const gr_conv_variant *gr_conv_rung(const char *name);

/* Sets grid and block of a launch. GR_ERR_VALUE if the grid exceeds the limits of CUDA. */
void gr_conv_set_grid(gr_program *program, gr_step *step, gr_conv_grid grid, uint32_t threads);

/* The suffix of kernels for a layout: "_nhwc" or "_nchw". */
const char *gr_conv_layout_suffix(const gr_conv *self);

/* Returns how many elements of x, along one axis, `results` neighbouring results read (the halo included). */
uint64_t gr_conv_extent_read(const gr_conv_axis *axis, uint64_t results);

/* Returns the result pixels of all images, the taps of a kernel, and the elements of a filter. */
uint64_t gr_conv_pixels(const gr_conv *self);
uint64_t gr_conv_taps(const gr_conv *self);
uint64_t gr_conv_filter_length(const gr_conv *self);

/* Returns the stride of both axes if the kernel has 3 x 3 taps without dilation; else 0. */
uint64_t gr_conv_stride_of_3x3(const gr_conv *self);

/* Returns whether images are so small that kernels can index them in 32 bits. */
bool gr_conv_fits_32_bits(const gr_conv *self);

/* x (images and their pixels) or w (filters and their taps), and the buffer that holds it. */
typedef struct gr_conv_array {
    gr_conv_view *view;
    uint32_t *buffer;
    uint64_t outer, height, width, channels;
} gr_conv_array;

gr_conv_array gr_conv_array_of_x(gr_conv *self, gr_conv_job *job);
gr_conv_array gr_conv_array_of_w(gr_conv *self, gr_conv_job *job);
uint64_t gr_conv_array_count(const gr_conv_array *of);

/* The view of a dense array: contiguous in C order of the layout and 16-byte aligned. */
gr_conv_view gr_conv_dense_view(const gr_conv_array *of, gr_conv_layout layout);
/* Returns whether an array is dense. Strides of axes of length 1 do not matter. */
bool gr_conv_is_dense(const gr_conv_array *of, gr_conv_layout layout);

/* ---- im2col.c: im2col and a matrix multiplication (c1) ---- */

/* Returns whether x itself is the im2col matrix: 1 x 1 taps, strides of 1, no padding, even pixel strides. */
bool gr_conv_is_gemm(const gr_conv *self);
bool gr_conv_im2col_supports(const gr_conv *self);
/* Returns the order of the product. `has_one_part`: k of halves and float32 is not divided. */
gr_matmul_order gr_conv_im2col_order(const gr_conv *self, bool has_one_part, const gr_device_info *info);
/* Returns the estimated microseconds of the product; 0: its kernel has no estimate. */
double gr_conv_im2col_product_time(const gr_conv *self, bool has_one_part);
gr_conv_append gr_conv_im2col;

/* Appends copies of x and w unless they are dense (gr_conv_is_dense); then *self and *job describe the
   copies. */
void gr_conv_make_dense(gr_conv *self, gr_conv_job *job);

/* Appends copies of x, w or both in NHWC, of one group, with `pitch` elements from pixel to pixel. What
   follows the channels of a pixel is not written. */
void gr_conv_make_padded(gr_conv *self, uint64_t pitch, bool of_x, bool of_w, gr_conv_job *job);

/* ---- implicit_gemm.c: implicit GEMM on CUDA cores (c2, c2_ring) ---- */

gr_conv_append gr_conv_implicit_gemm;
bool gr_conv_implicit_gemm_async_supports(const gr_conv *self);
/* Estimated microseconds on the reference device, without launch and memory traffic. */
double gr_conv_implicit_gemm_async_time(const gr_conv *self);
gr_conv_append gr_conv_implicit_gemm_async;

/* ---- winograd.c: Winograd's F(2 x 2, 3 x 3) (c2_winograd) ---- */

/* Returns whether the taps are 3 x 3 with strides of 1 and, in NHWC, channels and filters multiples of 4. */
bool gr_conv_winograd_supports(const gr_conv *self);
gr_conv_append gr_conv_winograd;

/* ---- direct.c: direct convolution on CUDA cores (c0, c3, c4) ---- */

gr_conv_append gr_conv_naive;
/* Falls back to c2 if the tile of x that a block reads exceeds shared memory. */
gr_conv_append gr_conv_direct;
/* Returns whether c4 has a kernel for it: 12 channels, 3 x 3 taps, strides of 1. */
bool gr_conv_direct_rows_supports(const gr_conv *self);
gr_conv_append gr_conv_direct_rows;

/* ---- tensor_cores.c: direct convolution on tensor cores (c5, c6, c7) ---- */

/* Returns whether the special kernels for 12 channels, 3 x 3 taps and strides of 1 can compute it. */
bool gr_conv_is_c12_3x3(const gr_conv *self);
/* Falls back to im2col if one vector of channels exceeds shared memory. */
gr_conv_append gr_conv_tensor_cores;

/* ---- small_c.c: few channels on tensor cores (c5_few, c7_few) ---- */

bool gr_conv_small_c_supports(const gr_conv *self);
/* Estimated microseconds on the reference device without the launch; `moved`: those of the memory traffic. */
double gr_conv_small_c_time(const gr_conv *self, double moved);
gr_conv_append gr_conv_small_c;

/* ---- implicit_gemm_tma.c: implicit GEMM by TMA (c8, c9) ---- */

/* Returns whether tensor maps can describe x and w. */
bool gr_conv_implicit_gemm_tma_supports(const gr_conv *self);
/* Returns whether x and w are first copied to pixels of padded channels, as TMA needs multiples of 16 bytes.
 */
bool gr_conv_pads_channels(const gr_conv *self);
/* Returns whether x, in NCHW, is first transposed to NHWC. */
bool gr_conv_needs_nhwc_transpose(const gr_conv *self);
/* Returns whether the sums have the order of k, if k is not divided into parts. */
bool gr_conv_implicit_gemm_tma_is_in_order_of_k(const gr_conv *self);
enum { GR_CONV_MAX_PARTS = 8 };
/* Estimated microseconds on the reference device, without that transpose. `parts` of k: a power of two up to
   GR_CONV_MAX_PARTS; 0: the number of the fastest. HUGE_VAL: there are too few channels. */
double gr_conv_implicit_gemm_tma_time(const gr_conv *self, uint32_t parts);
/* Returns into how many parts the fastest tiling divides k. */
uint32_t gr_conv_implicit_gemm_tma_parts(const gr_conv *self);
gr_conv_append gr_conv_implicit_gemm_tma;

/* ---- tma_boxes.c: the tiling of an implicit GEMM by TMA ---- */

/* A thread block computes `tiles` tiles of 64 pixels (a box of images, rows and columns) by `filters`
 * filters. */
typedef struct gr_conv_tma_tiling {
    uint32_t tiles, filters;
    uint32_t blocks_per_sm;
    uint32_t parts;          /* of k, to choose; 0: any number */
    uint32_t slices;         /* split-K: blocks of a cluster, which share the channels; 1 or all parts */
    bool box_per_tap;        /* TMA loads a box for each tap, instead of one that all taps read */
    bool persistent;         /* a thread block computes box after box */
    bool x_is_nchw;          /* TMA loads NCHW, without a transpose */
    gr_conv_tma_params maps; /* kernel parameters except for `conv` and the tensor maps */
    uint64_t blocks;         /* boxes, with all their groups and filter tiles */
    double time;             /* estimated microseconds */
} gr_conv_tma_tiling;

/* Returns the tiling with the smallest estimated time, of those with `parts` parts of k (0: any number);
   `tiles` is 0 if there is none. With `x_is_nchw` the convolution must be 1 x 1 in NCHW with images of one
   row. */
gr_conv_tma_tiling gr_conv_choose_tma_tiling(const gr_conv *self, bool x_is_nchw, uint32_t parts);

/* ---- nchw_to_nhwc.c: the copy before an implicit GEMM by TMA ---- */

/* Appends a copy of x, unless `x_stays`, and of w to NHWC, the layout of *self, unless they are dense; then
   *self and *job describe the copies. `pitch`: elements from pixel to pixel of one group, a multiple of 16
   bytes; self->channels: of all groups, dense. */
void gr_conv_make_nhwc(gr_conv *self, bool x_stays, uint64_t pitch, gr_conv_job *job);

/* ---- depthwise.c and auto.c: kernels that only `auto` selects ---- */

/* Returns whether the depthwise kernel is the fastest: one channel per group, few filters per channel. */
bool gr_conv_prefers_depthwise(const gr_conv *self);
gr_conv_append gr_conv_depthwise;
/* Returns whether the kernel for 1 x 1 taps and at most 4 filters (small K) is the fastest. */
bool gr_conv_prefers_pointwise(const gr_conv *self);
gr_conv_append gr_conv_pointwise;
/* Returns whether the kernels of small tiles, for few results or few filters per group, can compute it, and
   whether their times were measured. */
bool gr_conv_small_supports(const gr_conv *self);
bool gr_conv_small_is_measured(const gr_conv *self);
/* Estimated microseconds on the reference device, without memory traffic, of the tiles of an order. */
double gr_conv_small_time(const gr_conv *self, gr_conv_order order);
gr_conv_append gr_conv_small;
/* Returns whether offsets of elements within an image or a filter fit in 32 bits. */
bool gr_conv_has_short_offsets(const gr_conv *self);

/* ---- few_filters.c ---- */

/* Estimated microseconds on the reference device, without memory traffic; HUGE_VAL if the kernel of few
   filters does not compute the convolution. */
double gr_conv_few_time(const gr_conv *self);
gr_conv_append gr_conv_few;

/* ---- bias.c ---- */

/* Appends a launch that adds the bias to the results in job.out. */
gr_conv_append gr_conv_add_bias;

/* ---- cudnn.c: the convolution of cuDNN ---- */

bool gr_conv_cudnn_supports(const gr_conv *self);
/* Appends a library step by the algorithm that cuDNN chooses. */
gr_conv_append gr_conv_cudnn;

/* ---- cost_model.c ---- */

/* Estimated microseconds of a rung on the reference device (H200); HUGE_VAL: never to be chosen. `parts` of k
   in c8 and c9; 0: any number. */
double gr_conv_estimate_time(const gr_conv *self, const gr_conv_variant *variant, uint32_t parts);
/* Estimated microseconds of the kernel for few results (gr_conv_small). */
double gr_conv_estimate_small_time(const gr_conv *self, gr_conv_order order);
/* Estimated microseconds of the kernel for few filters (gr_conv_few). */
double gr_conv_estimate_few_time(const gr_conv *self);

/* ---- algorithms.c ---- */

/* Returns whether a rung is a function of a library; NULL: no rung. */
bool gr_conv_is_library(const gr_conv_variant *variant);
/* Returns whether a rung computes the convolution. */
bool gr_conv_supports(const gr_conv *self, const gr_conv_variant *variant);
/* Returns whether `auto` may choose a rung, which has kernels for the convolution. */
bool gr_conv_is_candidate(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info);
/* Appends the launches of the job's rung, or of the rung in its place that has kernels for the convolution.
   Operands whose layout the rung does not take are copied before. */
void gr_conv_append_variant(const gr_conv *self, gr_conv_job job);

/* ---- choice.c ---- */

/* Sets variant, order and parts of a job to the fastest kernel; with `batch_invariant` to the fastest of the
   order that follows from everything but the number of images. Returns the function that appends a kernel
   that is no rung; NULL: a rung. GR_ERR_VALUE if no rung has the precision. */
gr_conv_append *gr_conv_choose(const gr_conv *self, gr_conv_job *job);

#endif
