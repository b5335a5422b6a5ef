/* conv2d: converts x, w, the bias and the options to a gr_conv, runs it and returns the result. Three entry
   points share that conversion: the fast path that parses the public arguments in C, py_conv2d behind the
   Python fallback, and the profiler on the simulator. */
#include <string.h>

#include "conv/conv.h"
#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"
#include "python/signature.h"
#include "python/tables.h"

enum { IMAGES, FILTERS, BIAS }; /* indices of the job's inputs */
enum { HEIGHT, WIDTH, SPATIAL_DIMS };
enum { BEFORE, AFTER };

static const char *const names[] = {"x", "w"};

typedef struct conv_call {
    py_job job;
    gr_conv conv;
    long long stride[SPATIAL_DIMS], dilation[SPATIAL_DIMS], padding[SPATIAL_DIMS][2], groups;
} conv_call;

static void init(conv_call *self, py_state *state) {
    py_job_init(&self->job, state);
    self->job.as_array = true;
    memset(&self->conv, 0, sizeof self->conv);
    self->conv.batch_invariant = true;
}

/* ---- shapes ---- */

/* Index of each axis in a layout. */
typedef struct layout_axes {
    size_t batch, height, width, channel;
} layout_axes;

static const layout_axes axes_of_layout[GR_CONV_LAYOUTS] = {
    [GR_CONV_NHWC] = {0, 1, 2, 3},
    [GR_CONV_NCHW] = {0, 2, 3, 1},
};

/* Returns the stride of an axis in elements; 0 if its length is at most 1. */
static int64_t stride_of(const py_operand *operand, size_t axis) {
    const int64_t item = (int64_t)gr_dtypes[operand->dtype].item_bytes;
    return operand->extent[axis] <= 1 ? 0 : operand->stride[axis] / item;
}

static gr_conv_strides conv_strides_of(const py_operand *operand, const layout_axes *at) {
    return (gr_conv_strides){stride_of(operand, at->batch), stride_of(operand, at->height),
                             stride_of(operand, at->width), stride_of(operand, at->channel)};
}

/* Adds a batch axis of length 1. */
static void add_batch_axis(py_operand *operand) {
    memmove(operand->extent + 1, operand->extent, 3 * sizeof operand->extent[0]);
    memmove(operand->stride + 1, operand->stride, 3 * sizeof operand->stride[0]);
    operand->extent[0] = 1;
    operand->stride[0] = 0;
    operand->ndim = 4;
}

/* Describes one spatial axis. False if the result is empty or its length overflows. */
static bool describe_axis(const conv_call *self, int which, uint64_t size, uint64_t kernel,
                          gr_conv_axis *axis) {
    const long long stride = self->stride[which], dilation = self->dilation[which];
    const long long before = self->padding[which][BEFORE], after = self->padding[which][AFTER];
    int64_t reach, padded;
    if (stride < 1 || dilation < 1 || before < 0 || after < 0 || kernel < 1 ||
        __builtin_mul_overflow((int64_t)kernel - 1, (int64_t)dilation, &reach) ||
        __builtin_add_overflow((int64_t)size, (int64_t)before, &padded) ||
        __builtin_add_overflow(padded, (int64_t)after, &padded) || padded <= reach)
        return false;
    *axis = (gr_conv_axis){.size = size,
                           .kernel = kernel,
                           .out = (uint64_t)(padded - reach - 1) / (uint64_t)stride + 1,
                           .stride = (uint64_t)stride,
                           .dilation = (uint64_t)dilation,
                           .padding = before};
    return true;
}

/* Fills in the gr_conv and the shape of the result. Returns NULL, or the message of an error. */
static const char *describe(conv_call *self) {
    py_job *job = &self->job;
    py_operand *x = &job->inputs[IMAGES], *w = &job->inputs[FILTERS];
    gr_conv *conv = &self->conv;
    const bool single = x->ndim == 3;
    if (w->ndim != 4 || (x->ndim != 4 && !single))
        return "x, w: conv2d takes x of three or four dimensions and w of four";
    if (x->dtype != w->dtype)
        return "w: expected the dtype of x";
    if (single)
        add_batch_axis(x);
    const layout_axes *at = &axes_of_layout[conv->layout];
    conv->dtype = job->dtype = x->dtype;
    if (self->groups < 1 || w->extent[at->batch] % (uint64_t)self->groups != 0 ||
        x->extent[at->channel] % (uint64_t)self->groups != 0 ||
        x->extent[at->channel] / (uint64_t)self->groups != w->extent[at->channel])
        return "groups: x, w have no such groups of channels and filters";
    conv->batch = x->extent[at->batch];
    conv->groups = (uint64_t)self->groups;
    conv->channels = w->extent[at->channel];
    conv->filters = w->extent[at->batch] / conv->groups;
    if (!describe_axis(self, HEIGHT, x->extent[at->height], w->extent[at->height], &conv->height) ||
        !describe_axis(self, WIDTH, x->extent[at->width], w->extent[at->width], &conv->width))
        return "w: the dilated kernel is larger than the padded x";
    conv->x.strides = conv_strides_of(x, at);
    conv->w.strides = conv_strides_of(w, at);
    uint64_t extent[4];
    extent[at->batch] = conv->batch;
    extent[at->height] = conv->height.out;
    extent[at->width] = conv->width.out;
    extent[at->channel] = w->extent[at->batch];
    job->ndim = single ? 3 : 4;
    memcpy(job->extent, extent + (single ? 1 : 0), job->ndim * sizeof extent[0]);
    return py_job_set_c_strides(job) ? NULL : "x, w: the result would have too many elements";
}

/* Converts the bias, if there is one. 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_bias(conv_call *self, PyObject *value, py_conversion conversion) {
    py_operand *bias = &self->job.inputs[BIAS];
    if (py_is_none(value))
        return 1;
    const int parsed =
        py_operand_from_object(self->job.state, value, conversion, GR_SCOPE_GENERAL, "bias", bias);
    if (parsed <= 0 || py_operand_ensure_element_strides(bias) < 0)
        return parsed < 1 ? parsed : -1;
    self->job.input_count = BIAS + 1;
    self->conv.has_bias = true;
    return 1;
}

/* Checks the bias. Returns NULL, or the message of an error. */
static const char *describe_bias(conv_call *self) {
    const py_operand *bias = &self->job.inputs[BIAS];
    gr_conv *conv = &self->conv;
    if (!conv->has_bias)
        return NULL;
    if (bias->dtype != conv->dtype || bias->ndim != 1 || bias->extent[0] != conv->groups * conv->filters)
        return "bias: expected one element per filter, of the dtype of x";
    conv->bias_stride = stride_of(bias, 0);
    return NULL;
}

/* Sets in the plan whether addresses are multiples of 16 bytes, and whether `out` overlaps an input. */
static void note_alignment(conv_call *self) {
    const py_job *job = &self->job;
    self->conv.x.aligned = job->inputs[IMAGES].source.origin % 16 == 0;
    self->conv.w.aligned = job->inputs[FILTERS].source.origin % 16 == 0;
    self->conv.out_aligned = py_job_out_is_aligned(job);
    self->conv.needs_temporary_output = py_job_out_overlaps(job);
}

/* Whether any rung supports a dtype. */
static bool has_rung(gr_dtype dtype) {
    bool found = false;
    for (size_t i = 0; i < gr_conv_ladder.count; ++i)
        found = found || gr_conv_supports_dtype(&gr_conv_variants[i], dtype);
    return found;
}

/* ---- the run ---- */

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_conv_run(device, &((conv_call *)arg)->conv, binding, interrupt, error);
}

/* ---- the fast path ---- */

/* Parses an int or a pair of ints from `min` to INT32_MAX; false: fall back to Python. */
static bool parse_pair(PyObject *value, long long min, long long *out) {
    PyObject *each[SPATIAL_DIMS] = {value, value};
    if (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == SPATIAL_DIMS) {
        each[HEIGHT] = PyTuple_GET_ITEM(value, HEIGHT);
        each[WIDTH] = PyTuple_GET_ITEM(value, WIDTH);
    }
    for (int i = 0; i < SPATIAL_DIMS; ++i) {
        int overflow;
        if (!PyLong_CheckExact(each[i]))
            return false;
        out[i] = PyLong_AsLongLongAndOverflow(each[i], &overflow);
        if (overflow != 0 || out[i] < min || out[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool parse_numbers(const py_arguments arguments, conv_call *self) {
    long long groups[SPATIAL_DIMS] = {1, 1}, padding[SPATIAL_DIMS] = {0, 0};
    self->stride[HEIGHT] = self->stride[WIDTH] = self->dilation[HEIGHT] = self->dilation[WIDTH] = 1;
    if ((arguments[PY_NAME_stride] != NULL && !parse_pair(arguments[PY_NAME_stride], 1, self->stride)) ||
        (arguments[PY_NAME_padding] != NULL && !parse_pair(arguments[PY_NAME_padding], 0, padding)) ||
        (arguments[PY_NAME_dilation] != NULL &&
         !parse_pair(arguments[PY_NAME_dilation], 1, self->dilation)) ||
        (arguments[PY_NAME_groups] != NULL &&
         !(PyLong_CheckExact(arguments[PY_NAME_groups]) && parse_pair(arguments[PY_NAME_groups], 1, groups))))
        return false;
    self->groups = groups[0];
    for (int i = 0; i < SPATIAL_DIMS; ++i)
        self->padding[i][BEFORE] = self->padding[i][AFTER] = padding[i];
    return true;
}

static bool find_layout(const char *name, gr_conv_layout *out) {
    for (int i = 0; i < GR_CONV_LAYOUTS; ++i) {
        if (strcmp(name, gr_conv_layouts[i]) != 0)
            continue;
        *out = (gr_conv_layout)i;
        return true;
    }
    return false;
}

/* Finds a rung that supports the dtype. Its precision is used, unless another one is asked for. */
static gr_status find_variant(gr_conv *conv, const char *name, gr_error *error) {
    conv->variant = gr_rung_find(&gr_conv_ladder, name, error);
    if (conv->variant == NULL)
        return error->status;
    if (conv->variant->precision != GR_PRECISION_ANY)
        conv->precision = conv->variant->precision;
    return gr_conv_supports_dtype(conv->variant, conv->dtype)
               ? GR_OK
               : gr_fail(error, GR_ERR_TYPE, "x: %s does not take dtype %s", name,
                         gr_dtypes[conv->dtype].numpy_name);
}

/* Parses `variant=` and `precision=`. False if they do not fit each other or the dtype. */
static bool parse_names(const py_arguments arguments, gr_conv *conv) {
    gr_error ignored;
    PyObject *const variant = arguments[PY_NAME_variant];
    const char *name = variant == NULL ? "auto" : py_text_of(variant);
    if (name == NULL || (strcmp(name, "auto") != 0 && find_variant(conv, name, &ignored) != GR_OK))
        return false;
    const gr_conv_variant *rung = conv->variant;
    if (rung != NULL && rung->rung.entry == GR_ENTRY_LIBRARY && gr_cudnn_open(&ignored) != GR_OK)
        return false; /* Python searches for the library in more folders */
    return py_parse_precision(arguments[PY_NAME_precision], conv->dtype, &conv->precision) &&
           (rung == NULL || gr_conv_supports_precision(rung, conv->precision));
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(const py_arguments arguments, conv_call *self) {
    PyObject *const inputs[] = {arguments[PY_NAME_x], arguments[PY_NAME_w]};
    gr_conv *conv = &self->conv;
    const char *layout = arguments[PY_NAME_layout] == NULL ? gr_conv_layouts[GR_CONV_NCHW]
                                                           : py_text_of(arguments[PY_NAME_layout]);
    if (!py_is_none(arguments[PY_NAME_dtype]) || inputs[FILTERS] == NULL || !parse_numbers(arguments, self) ||
        layout == NULL || !find_layout(layout, &conv->layout) ||
        !py_parse_bool(arguments[PY_NAME_batch_invariant], true, &conv->batch_invariant))
        return 0;
    int parsed = py_job_parse_inputs(&self->job, inputs, names, self->job.conversion);
    if (parsed > 0)
        parsed = parse_bias(self, arguments[PY_NAME_bias], self->job.conversion);
    if (parsed > 0 && (describe(self) != NULL || describe_bias(self) != NULL || !has_rung(conv->dtype) ||
                       !parse_names(arguments, conv)))
        return 0;
    if (parsed > 0)
        parsed = py_job_parse_options(&self->job, arguments);
    if (parsed > 0)
        note_alignment(self);
    return parsed;
}

PyObject *py_fast_conv2d(const py_signature *signature, const py_arguments arguments) {
    conv_call self;
    init(&self, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_x]);
    PyObject *result = py_job_run_parsed(&self.job, parse_arguments(arguments, &self), work, &self);
    py_job_release(&self.job);
    return result;
}

/* ---- behind the Python fallback ---- */

static int parse_layout(PyObject *value, gr_conv *conv) {
    const char *name = py_text_argument(value, "layout");
    if (name == NULL)
        return -1;
    return find_layout(name, &conv->layout)
               ? 0
               : PY_RAISE(PyExc_ValueError, "layout: unknown layout '%.32s'", name);
}

/* Parses x, w and the bias (None: none): NumPy arrays or views of device memory, of one dtype. */
static int parse_inputs(conv_call *self, PyObject *const *inputs, PyObject *bias) {
    if (py_job_parse_inputs(&self->job, inputs, names, PY_NATIVE) < 0 ||
        parse_bias(self, bias, PY_NATIVE) < 0)
        return -1;
    const char *wrong = describe(self);
    if (wrong == NULL)
        wrong = describe_bias(self);
    return wrong == NULL ? 0 : PY_RAISE(PyExc_ValueError, "%s", wrong);
}

/* Parses the names of a rung (None: auto) and of a precision (None: the rung's, or IEEE). */
static int parse_rung(conv_call *self, PyObject *variant, PyObject *precision) {
    gr_error error;
    const char *name = variant == Py_None ? NULL : py_text_argument(variant, "variant");
    if (name == NULL && variant != Py_None)
        return -1;
    if (name != NULL && find_variant(&self->conv, name, &error) != GR_OK)
        return py_fail(self->job.state, &error);
    return py_precision_argument(precision, &self->conv.precision);
}

PyObject *py_conv2d(PyObject *module, PyObject *args, PyObject *named) {
    static char *keywords[] = {"x",      "w",       "stride",    "padding",     "dilation", "groups",
                               "layout", "variant", "precision", "destination", "bias",     "batch_invariant",
                               NULL};
    PyObject *inputs[2], *bias = Py_None, *layout, *variant, *precision, *destination, *result = NULL;
    int batch_invariant = true;
    conv_call self;
    init(&self, PyModule_GetState(module));
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO(LL)(LLLL)(LL)LOOOO|Op", keywords, &inputs[IMAGES],
                                     &inputs[FILTERS], &self.stride[HEIGHT], &self.stride[WIDTH],
                                     &self.padding[HEIGHT][BEFORE], &self.padding[HEIGHT][AFTER],
                                     &self.padding[WIDTH][BEFORE], &self.padding[WIDTH][AFTER],
                                     &self.dilation[HEIGHT], &self.dilation[WIDTH], &self.groups, &layout,
                                     &variant, &precision, &destination, &bias, &batch_invariant))
        return NULL;
    self.conv.batch_invariant = batch_invariant != 0;
    if (parse_layout(layout, &self.conv) == 0 && parse_inputs(&self, inputs, bias) == 0 &&
        parse_rung(&self, variant, precision) == 0 && py_job_parse_destination(&self.job, destination) == 0) {
        note_alignment(&self);
        result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}

void py_append_conv(PyObject **list) {
    for (size_t i = 0; *list != NULL && i < gr_conv_ladder.count; ++i) {
        const gr_conv_variant *variant = &gr_conv_variants[i];
        PyObject *coverage = PyList_New(0);
        for (int dtype = 0; coverage != NULL && dtype < GR_DTYPE_COUNT; ++dtype)
            if (gr_conv_supports_dtype(variant, (gr_dtype)dtype))
                py_append(&coverage, Py_BuildValue("(ss)", "conv2d", gr_dtypes[dtype].numpy_name));
        const py_rung_traits traits = {
            .default_block = variant->threads,
            .precision = variant->precision == GR_PRECISION_ANY ? NULL : gr_precisions[variant->precision]};
        py_append(list, py_rung_record(&variant->rung, py_as_tuple(coverage),
                                       py_one_block_size(variant->threads), &traits));
    }
}
