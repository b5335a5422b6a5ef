/* The rung `cudnn`: cuDNN's functions, loaded by dlopen; a library step of a program, for which cuDNN chooses
   the fastest algorithm whose workspace is small enough. */
#include <stddef.h>

#include "conv/internal.h"

/* Enumerators of cudnn_ops.h and cudnn_cnn.h, whose headers the build does not need. */
enum { CUDNN_FLOAT = 0, CUDNN_HALF = 2, CUDNN_BFLOAT16 = 9 };
enum { FORMAT_NCHW = 0, FORMAT_NHWC = 1, CROSS_CORRELATION = 1 };
enum { DEFAULT_MATH = 0, TENSOR_MATH = 1, FMA_MATH = 3 }; /* DEFAULT_MATH rounds float32 to TF32 */
enum { MAX_ALGORITHMS = 8 };

typedef void *handle;
typedef void *descriptor;
typedef struct algorithm {
    int number, status;
    float time;
    size_t bytes;
    int determinism, math, reserved[3];
} algorithm;

#define CUDNN_SYMBOLS(X)                                                                                     \
    X(create, "cudnnCreate", (handle * out))                                                                 \
    X(set_stream, "cudnnSetStream", (handle self, void *stream))                                             \
    X(create_tensor, "cudnnCreateTensorDescriptor", (descriptor * out))                                      \
    X(destroy_tensor, "cudnnDestroyTensorDescriptor", (descriptor self))                                     \
    X(set_tensor, "cudnnSetTensor4dDescriptor",                                                              \
      (descriptor self, int format, int type, int n, int c, int h, int w))                                   \
    X(create_filter, "cudnnCreateFilterDescriptor", (descriptor * out))                                      \
    X(destroy_filter, "cudnnDestroyFilterDescriptor", (descriptor self))                                     \
    X(set_filter, "cudnnSetFilter4dDescriptor",                                                              \
      (descriptor self, int type, int format, int k, int c, int h, int w))                                   \
    X(create_convolution, "cudnnCreateConvolutionDescriptor", (descriptor * out))                            \
    X(destroy_convolution, "cudnnDestroyConvolutionDescriptor", (descriptor self))                           \
    X(set_convolution, "cudnnSetConvolution2dDescriptor",                                                    \
      (descriptor self, int pad_height, int pad_width, int stride_height, int stride_width,                  \
       int dilation_height, int dilation_width, int mode, int type))                                         \
    X(set_groups, "cudnnSetConvolutionGroupCount", (descriptor self, int groups))                            \
    X(set_math, "cudnnSetConvolutionMathType", (descriptor self, int math))                                  \
    X(choose, "cudnnGetConvolutionForwardAlgorithm_v7",                                                      \
      (handle self, descriptor x, descriptor w, descriptor convolution, descriptor out, int max_count,       \
       int *count, algorithm *found))                                                                        \
    X(ask_bytes, "cudnnGetConvolutionForwardWorkspaceSize",                                                  \
      (handle self, descriptor x, descriptor w, descriptor convolution, descriptor out, int algorithm,       \
       size_t *bytes))                                                                                       \
    X(convolve, "cudnnConvolutionForward",                                                                   \
      (handle self, const void *alpha, descriptor of_x, const void *x, descriptor of_w, const void *w,       \
       descriptor convolution, int algorithm, void *workspace, size_t bytes, const void *beta,               \
       descriptor of_out, void *out))

static struct {
    const char *(*describe)(int status);
    CUDNN_SYMBOLS(GR_VENDOR_POINTER)
} functions;

/* One handle per device. The stream is a property of the handle, so that a lock serializes its use. */
static handle handles[GR_MAX_CUDA_DEVICES];

typedef struct cudnn_call {
    gr_library_call call;
    int device, algorithm, math;
    size_t workspace_bytes;
    gr_conv conv;
    gr_devptr x, w, out, workspace;
} cudnn_call;

/* ---- the library ---- */

static const gr_symbol symbols[] = {{"cudnnGetErrorString", &functions.describe},
                                    CUDNN_SYMBOLS(GR_VENDOR_SYMBOL){NULL, NULL}};
static gr_vendor vendor = {.variant = "cudnn",
                           .needed = "cuDNN 9",
                           .environment = "GPUREDUCE_LIBCUDNN",
                           .names = {"libcudnn.so.9"},
                           .symbols = symbols,
                           .describe = &functions.describe,
                           .lock = PTHREAD_MUTEX_INITIALIZER};

gr_status gr_cudnn_open(gr_error *error) {
    return gr_vendor_open(&vendor, error);
}

static gr_status check(int code, const char *doing, gr_error *error) {
    return gr_vendor_check(&vendor, code, doing, error);
}

/* ---- the run ---- */

typedef struct descriptors {
    descriptor x, w, out, convolution;
} descriptors;

static void destroy(descriptors *self) {
    if (self->x != NULL)
        functions.destroy_tensor(self->x);
    if (self->w != NULL)
        functions.destroy_filter(self->w);
    if (self->out != NULL)
        functions.destroy_tensor(self->out);
    if (self->convolution != NULL)
        functions.destroy_convolution(self->convolution);
}

static int create(descriptors *self) {
    *self = (descriptors){NULL, NULL, NULL, NULL};
    int code = functions.create_tensor(&self->x);
    if (code == 0)
        code = functions.create_filter(&self->w);
    if (code == 0)
        code = functions.create_tensor(&self->out);
    return code == 0 ? functions.create_convolution(&self->convolution) : code;
}

static int type_of(gr_dtype dtype) {
    return dtype == GR_DTYPE_f16 ? CUDNN_HALF : dtype == GR_DTYPE_bf16 ? CUDNN_BFLOAT16 : CUDNN_FLOAT;
}

static int math_of(const gr_conv *self) {
    return self->dtype != GR_DTYPE_f32            ? TENSOR_MATH
           : self->precision == GR_PRECISION_TF32 ? DEFAULT_MATH
                                                  : FMA_MATH;
}

/* Sets the descriptors; accumulation is in float32. */
static int describe(const descriptors *self, const gr_conv *conv, int math) {
    const gr_conv_axis *height = &conv->height, *width = &conv->width;
    const int format = conv->layout == GR_CONV_NHWC ? FORMAT_NHWC : FORMAT_NCHW, type = type_of(conv->dtype);
    const int groups = (int)conv->groups, filters = (int)(conv->groups * conv->filters);
    int code = functions.set_tensor(self->x, format, type, (int)conv->batch, groups * (int)conv->channels,
                                    (int)height->size, (int)width->size);
    if (code == 0)
        code = functions.set_tensor(self->out, format, type, (int)conv->batch, filters, (int)height->out,
                                    (int)width->out);
    if (code == 0)
        code = functions.set_filter(self->w, type, format, filters, (int)conv->channels, (int)height->kernel,
                                    (int)width->kernel);
    if (code == 0)
        code = functions.set_convolution(self->convolution, (int)height->padding, (int)width->padding,
                                         (int)height->stride, (int)width->stride, (int)height->dilation,
                                         (int)width->dilation, CROSS_CORRELATION, CUDNN_FLOAT);
    if (code == 0)
        code = functions.set_groups(self->convolution, groups);
    return code == 0 ? functions.set_math(self->convolution, math) : code;
}

/* Chooses the first algorithm of cuDNN's list, the fastest first, whose workspace is at most 1 GiB. */
static gr_status choose(cudnn_call *call, handle self, const descriptors *of, gr_error *error) {
    const size_t max_bytes = (size_t)1 << 30;
    algorithm found[MAX_ALGORITHMS];
    int count = 0;
    const gr_status status =
        check(functions.choose(self, of->x, of->w, of->convolution, of->out, MAX_ALGORITHMS, &count, found),
              "choosing an algorithm", error);
    for (int i = 0; status == GR_OK && i < count; ++i) {
        const int math = call->math == FMA_MATH ? FMA_MATH : found[i].math;
        size_t bytes = 0;
        if (found[i].status != 0 || functions.set_math(of->convolution, math) != 0 ||
            functions.ask_bytes(self, of->x, of->w, of->convolution, of->out, found[i].number, &bytes) != 0 ||
            bytes > max_bytes)
            continue;
        call->algorithm = found[i].number;
        call->math = math;
        call->workspace_bytes = bytes;
        return GR_OK;
    }
    return status == GR_OK ? gr_fail(error, GR_ERR_DEVICE,
                                     "variant: cudnn has no algorithm for this convolution; auto supports it")
                           : status;
}

static gr_status convolve(cudnn_call *call, handle self, const descriptors *of, gr_error *error) {
    static const float one = 1, zero = 0;
    return check(functions.convolve(self, &one, of->x, (const void *)(uintptr_t)call->x, of->w,
                                    (const void *)(uintptr_t)call->w, of->convolution, call->algorithm,
                                    (void *)(uintptr_t)call->workspace, call->workspace_bytes, &zero, of->out,
                                    (void *)(uintptr_t)call->out),
                 "convolving", error);
}

/* Calls `use` with the handle of the device, which works in `stream` unless that is NULL, and the descriptors
   of the convolution. The caller has made the context of the device current. */
static gr_status with_descriptors(cudnn_call *call, void *stream,
                                  gr_status (*use)(cudnn_call *, handle, const descriptors *, gr_error *),
                                  gr_error *error) {
    descriptors of = {NULL, NULL, NULL, NULL};
    gr_status status = GR_OK;
    pthread_mutex_lock(&vendor.lock);
    handle *self = &handles[call->device];
    if (*self == NULL)
        status = check(functions.create(self), "making a handle", error);
    if (status == GR_OK && stream != NULL)
        status = check(functions.set_stream(*self, stream), "setting the stream", error);
    if (status == GR_OK)
        status = check(create(&of), "making descriptors", error);
    if (status == GR_OK)
        status = check(describe(&of, &call->conv, call->math), "describing it", error);
    if (status == GR_OK)
        status = use(call, *self, &of, error);
    destroy(&of);
    pthread_mutex_unlock(&vendor.lock);
    return status;
}

static gr_status run(const gr_library_call *given, void *stream, gr_error *error) {
    cudnn_call call = *(const cudnn_call *)given;
    return with_descriptors(&call, stream, convolve, error);
}

/* ---- the plan ---- */

/* Returns whether the result has the size that cuDNN computes from symmetric padding. */
static bool is_symmetric(const gr_conv_axis *axis) {
    const uint64_t padded = axis->size + 2 * (uint64_t)axis->padding;
    const uint64_t reach = (axis->kernel - 1) * axis->dilation + 1;
    return axis->size > 0 && padded >= reach && (padded - reach) / axis->stride + 1 == axis->out;
}

static bool fits_31_bits(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_mul_overflow(product, c, &product) &&
           product < INT32_MAX;
}

bool gr_conv_cudnn_supports(const gr_conv *self) {
    const gr_conv_axis *height = &self->height, *width = &self->width;
    return self->channels > 0 && is_symmetric(height) && is_symmetric(width) &&
           fits_31_bits(self->batch * self->groups * self->channels, height->size, width->size) &&
           fits_31_bits(self->batch * self->groups * self->filters, height->out, width->out) &&
           fits_31_bits(self->groups * self->filters * self->channels, height->kernel, width->kernel);
}

void gr_conv_cudnn(const gr_conv *self, gr_conv_job job) {
    enum { MIN_BYTES = 16 };
    gr_program *program = job.program;
    cudnn_call call = {
        .call = {"cudnn", run}, .device = job.info->index, .math = math_of(self), .conv = *self};
    program->status = gr_cudnn_open(program->error);
    if (program->status == GR_OK)
        program->status = with_descriptors(&call, NULL, choose, program->error);
    const size_t bytes = call.workspace_bytes > 0 ? call.workspace_bytes : MIN_BYTES;
    gr_program_step(program, GR_STEP_LIBRARY, &call, sizeof call);
    gr_program_relocate(program, offsetof(cudnn_call, x), job.x);
    gr_program_relocate(program, offsetof(cudnn_call, w), job.w);
    gr_program_relocate(program, offsetof(cudnn_call, out), job.out);
    gr_program_relocate(program, offsetof(cudnn_call, workspace),
                        gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes));
}
