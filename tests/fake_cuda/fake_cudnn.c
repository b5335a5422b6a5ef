/* Stands in for cuDNN: convolves on the host, in the memory of the fake driver, and remembers what it was
   told. Usage: GPUREDUCE_LIBCUDNN=libcudnn_fake.so next to GPUREDUCE_LIBCUDA. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct handle {
    void *stream;
} handle;

/* Of a tensor or of filters: their numbers of n, c, h and w, and where the next one is. */
typedef struct tensor {
    int type, size[4];
    int64_t step[4];
} tensor;

typedef struct convolution {
    int padding[2], stride[2], dilation[2], groups, math, mode, type;
} convolution;

typedef struct algorithm {
    int number, status;
    float time;
    size_t bytes;
    int determinism, math, reserved[3];
} algorithm;

/* `alive`: descriptors; `fail`: 1: convolving, 2: it has no algorithm, 3: making descriptors. */
typedef struct record {
    long handles, calls, alive, type, math, groups, algorithm, bytes, channels_last, fail;
    void *stream;
} record;

enum { BAD = 2000, FAILED = 5000, PRECOMPUTED = 1, WINOGRAD = 6, NOT_FUSED = 7, WORKSPACE = 4096 };

EXPORT record *fake_cudnn(void);
EXPORT const char *cudnnGetErrorString(int status);
EXPORT int cudnnCreate(handle **out);
EXPORT int cudnnSetStream(handle *self, void *stream);
EXPORT int cudnnCreateTensorDescriptor(tensor **out);
EXPORT int cudnnDestroyTensorDescriptor(tensor *self);
EXPORT int cudnnSetTensor4dDescriptor(tensor *self, int format, int type, int n, int c, int h, int w);
EXPORT int cudnnCreateFilterDescriptor(tensor **out);
EXPORT int cudnnDestroyFilterDescriptor(tensor *self);
EXPORT int cudnnSetFilter4dDescriptor(tensor *self, int type, int format, int k, int c, int h, int w);
EXPORT int cudnnCreateConvolutionDescriptor(convolution **out);
EXPORT int cudnnDestroyConvolutionDescriptor(convolution *self);
EXPORT int cudnnSetConvolution2dDescriptor(convolution *self, int pad_h, int pad_w, int stride_h,
                                           int stride_w, int dilation_h, int dilation_w, int mode, int type);
EXPORT int cudnnSetConvolutionGroupCount(convolution *self, int groups);
EXPORT int cudnnSetConvolutionMathType(convolution *self, int math);
EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(handle *self, const tensor *x, const tensor *w,
                                                  const convolution *how, const tensor *out, int most,
                                                  int *count, algorithm *found);
EXPORT int cudnnGetConvolutionForwardWorkspaceSize(handle *self, const tensor *x, const tensor *w,
                                                   const convolution *how, const tensor *out, int number,
                                                   size_t *bytes);
EXPORT int cudnnConvolutionForward(handle *self, const void *alpha, const tensor *of_x, const void *x,
                                   const tensor *of_w, const void *w, const convolution *how, int number,
                                   void *workspace, size_t bytes, const void *beta, const tensor *of_out,
                                   void *out);

static record seen;

record *fake_cudnn(void) {
    return &seen;
}

const char *cudnnGetErrorString(int status) {
    return status == FAILED ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_BAD_PARAM";
}

int cudnnCreate(handle **out) {
    static handle all[8];
    *out = &all[seen.handles++];
    return 0;
}

int cudnnSetStream(handle *self, void *stream) {
    self->stream = stream;
    return 0;
}

static int create(void *out, size_t bytes) {
    void *made = calloc(1, bytes);
    if (made == NULL || seen.fail == 3) {
        free(made);
        return FAILED;
    }
    memcpy(out, &made, sizeof made);
    seen.alive++;
    return 0;
}

static int destroy(void *self) {
    free(self);
    seen.alive--;
    return 0;
}

int cudnnCreateTensorDescriptor(tensor **out) {
    return create(out, sizeof **out);
}

int cudnnDestroyTensorDescriptor(tensor *self) {
    return destroy(self);
}

int cudnnSetTensor4dDescriptor(tensor *self, int format, int type, int n, int c, int h, int w) {
    const int64_t deep = c, high = h, wide = w;
    if (format < 0 || format > 1 || n < 1 || c < 1 || h < 1 || w < 1)
        return BAD;
    *self = (tensor){type,
                     {n, c, h, w},
                     {deep * high * wide, format == 1 ? 1 : high * wide, format == 1 ? wide * deep : wide,
                      format == 1 ? deep : 1}};
    seen.channels_last = format;
    return 0;
}

int cudnnCreateFilterDescriptor(tensor **out) {
    return create(out, sizeof **out);
}

int cudnnDestroyFilterDescriptor(tensor *self) {
    return destroy(self);
}

int cudnnSetFilter4dDescriptor(tensor *self, int type, int format, int k, int c, int h, int w) {
    return cudnnSetTensor4dDescriptor(self, format, type, k, c, h, w);
}

int cudnnCreateConvolutionDescriptor(convolution **out) {
    return create(out, sizeof **out);
}

int cudnnDestroyConvolutionDescriptor(convolution *self) {
    return destroy(self);
}

int cudnnSetConvolution2dDescriptor(convolution *self, int pad_h, int pad_w, int stride_h, int stride_w,
                                    int dilation_h, int dilation_w, int mode, int type) {
    *self = (convolution){{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, 1, 0, mode, type};
    return mode == 1 && type == 0 ? 0 : BAD;
}

int cudnnSetConvolutionGroupCount(convolution *self, int groups) {
    self->groups = groups;
    return 0;
}

int cudnnSetConvolutionMathType(convolution *self, int math) {
    self->math = math;
    return 0;
}

/* Whether the shapes go together, as the library has it. */
static int fits(const tensor *x, const tensor *w, const convolution *how, const tensor *out) {
    int good = x->size[0] == out->size[0] && w->size[0] == out->size[1] && w->size[0] % how->groups == 0 &&
               w->size[1] * how->groups == x->size[1] && x->type == w->type && x->type == out->type;
    for (int i = 0; i < 2; ++i)
        good = good && (x->size[2 + i] + 2 * how->padding[i] - how->dilation[i] * (w->size[2 + i] - 1) - 1) /
                                   how->stride[i] +
                               1 ==
                           out->size[2 + i];
    return good;
}

/* One that does not run, one that asks for too much memory, and one that is good. */
int cudnnGetConvolutionForwardAlgorithm_v7(handle *self, const tensor *x, const tensor *w,
                                           const convolution *how, const tensor *out, int most, int *count,
                                           algorithm *found) {
    const algorithm all[] = {{NOT_FUSED, BAD, 1, 0, 1, how->math, {0}},
                             {WINOGRAD, 0, 2, (size_t)1 << 33, 1, how->math, {0}},
                             {PRECOMPUTED, 0, 3, WORKSPACE, 1, 1, {0}}};
    (void)self;
    *count = seen.fail == 2 ? 2 : 3;
    memcpy(found, all, (size_t)(most < *count ? most : *count) * sizeof *found);
    return fits(x, w, how, out) ? 0 : BAD;
}

int cudnnGetConvolutionForwardWorkspaceSize(handle *self, const tensor *x, const tensor *w,
                                            const convolution *how, const tensor *out, int number,
                                            size_t *bytes) {
    (void)self, (void)x, (void)w, (void)how, (void)out;
    *bytes = number == PRECOMPUTED ? WORKSPACE : (size_t)1 << 33;
    return 0;
}

/* What was put into the stream before has to be done. */
static void wait_for(void *stream) {
    void *driver = dlopen(getenv("GPUREDUCE_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    int (*wait)(void *);
    void *address = driver != NULL ? dlsym(driver, "cuStreamSynchronize") : NULL;
    if (address == NULL)
        abort();
    memcpy(&wait, &address, sizeof address);
    if (wait(stream) != 0)
        abort();
    dlclose(driver);
}

static int64_t place(const tensor *of, int n, int c, int h, int w) {
    return n * of->step[0] + c * of->step[1] + h * of->step[2] + w * of->step[3];
}

/* The result of a filter at row y, column x of a picture. */
static float result(const tensor *of_x, const float *x, const tensor *of_w, const float *w,
                    const convolution *how, const int at[4]) {
    const int group = at[1] / (of_w->size[0] / how->groups), channels = of_w->size[1];
    float sum = 0;
    for (int c = 0; c < channels; ++c)
        for (int i = 0; i < of_w->size[2]; ++i)
            for (int j = 0; j < of_w->size[3]; ++j) {
                const int down = at[2] * how->stride[0] + i * how->dilation[0] - how->padding[0];
                const int along = at[3] * how->stride[1] + j * how->dilation[1] - how->padding[1];
                if (down >= 0 && down < of_x->size[2] && along >= 0 && along < of_x->size[3])
                    sum += x[place(of_x, at[0], group * channels + c, down, along)] *
                           w[place(of_w, at[1], c, i, j)];
            }
    return sum;
}

int cudnnConvolutionForward(handle *self, const void *alpha, const tensor *of_x, const void *x,
                            const tensor *of_w, const void *w, const convolution *how, int number,
                            void *workspace, size_t bytes, const void *beta, const tensor *of_out,
                            void *out) {
    const int *size = of_out->size;
    seen = (record){seen.handles, seen.calls + 1, seen.alive,         of_x->type, how->math,   how->groups,
                    number,       (long)bytes,    seen.channels_last, seen.fail,  self->stream};
    if (seen.fail == 1)
        return FAILED;
    if (workspace == NULL || bytes < WORKSPACE || number != PRECOMPUTED || *(const float *)alpha != 1 ||
        *(const float *)beta != 0 || (((uintptr_t)x | (uintptr_t)w | (uintptr_t)out) & 15) != 0)
        return BAD;
    memset(workspace, 0xff, bytes);
    wait_for(self->stream);
    for (int n = 0; n < size[0]; ++n)
        for (int f = 0; f < size[1]; ++f)
            for (int h = 0; h < size[2]; ++h)
                for (int v = 0; v < size[3]; ++v) {
                    const int at[4] = {n, f, h, v};
                    if (of_x->type == 0)
                        ((float *)out)[place(of_out, n, f, h, v)] = result(of_x, x, of_w, w, how, at);
                    else
                        ((uint16_t *)out)[place(of_out, n, f, h, v)] = 0; /* it is not for halves */
                }
    return 0;
}
