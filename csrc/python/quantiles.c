/* The fast path of median, quantile and percentile: selects the elements of the ranks and interpolates
   between them on the device, as NumPy does on the host. Ranks of nanmedian differ per line. They follow from
   the numbers of elements that are not NaN: in the kernels if elements and results are on the device, else on
   the host, which has to wait. Other methods than "linear", weights, and results that are not finite fall
   back to gpureduce/_order. */
#include <math.h>
#include <string.h>

#include "executor/executor.h"
#include "order/order.h"
#include "python/args.h"
#include "python/job.h"
#include "python/signature.h"

typedef struct quantiles_call {
    py_job job;
    gr_order_request order;
    gr_order_quantiles quantiles;
    int64_t ranks[GR_ORDER_MAX_RANKS];
    double q[GR_ORDER_MAX_QUANTILES]; /* from 0 to 1 */
    size_t count, q_ndim;             /* of q; an axis of the result precedes the others if q_ndim is 1 */
    bool weak; /* q is one number of Python, which does not decide the dtype of the result */
    /* Of nanmedian on floats: two ranks per line, then their elements; else NULL. */
    int64_t *line_ranks;
    bool is_left; /* set by the work: a line has only NaNs, or a mean overflows; Python computes again */
} quantiles_call;

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_order_run(device, &((const quantiles_call *)arg)->order, binding, interrupt, error);
}

/* ---- the work of nanmedian ---- */

enum { MIDDLE = 2 /* elements per line whose mean is the median */ };

/* Writes the means of two elements per line. False if a sum is not finite. The sums start from 0, as NumPy's:
   -0.0 becomes 0.0. */
#define WRITE_MEANS(name, Real)                                                                              \
    static bool name(Real *elements, const int64_t *ranks, uint64_t lines) {                                 \
        bool finite = true;                                                                                  \
        for (uint64_t i = 0; i < lines; ++i) {                                                               \
            const Real lower = elements[MIDDLE * i] + (Real)0, sum = lower + elements[MIDDLE * i + 1];       \
            finite = finite && isfinite(sum);                                                                \
            elements[i] = ranks[MIDDLE * i] == ranks[MIDDLE * i + 1] ? lower : sum / (Real)2;                \
        }                                                                                                    \
        return finite;                                                                                       \
    }
WRITE_MEANS(write_float_means, float)
WRITE_MEANS(write_double_means, double)
#undef WRITE_MEANS

/* Writes the number of elements per line that are not NaN to the ranks, and replaces it by the ranks of the
   elements in the middle. */
static gr_status rank_middles(quantiles_call *self, gr_device *device, const gr_binding *binding,
                              const gr_interrupt *interrupt, gr_error *error) {
    gr_order_request order = self->order;
    gr_binding counting = *binding;
    int64_t *const ranks = self->line_ranks;
    order.task = GR_ORDER_TASK_COUNT_VALID;
    counting.host_out = ranks;
    counting.out_bytes = order.lines * sizeof *ranks;
    const gr_status status = gr_order_run(device, &order, &counting, interrupt, error);
    for (uint64_t i = order.lines; status == GR_OK && i-- > 0;) {
        const int64_t count = ranks[i];
        self->is_left = self->is_left || count == 0;
        ranks[MIDDLE * i] = (count - 1) / 2;
        ranks[MIDDLE * i + 1] = count / 2;
    }
    return status;
}

static gr_status median_valid(void *arg, gr_device *device, const gr_binding *binding,
                              const gr_interrupt *interrupt, gr_error *error) {
    quantiles_call *self = arg;
    int64_t *const ranks = self->line_ranks;
    const uint64_t lines = self->order.lines;
    gr_status status = rank_middles(self, device, binding, interrupt, error);
    if (status != GR_OK || self->is_left)
        return status;
    void *const elements = ranks + MIDDLE * lines;
    gr_binding selection = *binding;
    selection.inputs[1] = (gr_source){.host = ranks, .bytes = MIDDLE * lines * sizeof *ranks};
    selection.host_out = elements;
    selection.out_bytes = MIDDLE * lines * gr_dtypes[self->order.dtype].item_bytes;
    status = gr_order_run(device, &self->order, &selection, interrupt, error);
    if (status != GR_OK)
        return status;
    self->is_left = !(self->order.dtype == GR_DTYPE_f32 ? write_float_means(elements, ranks, lines)
                                                        : write_double_means(elements, ranks, lines));
    if (self->is_left)
        return GR_OK;
    if (binding->host_out != NULL) {
        memcpy(binding->host_out, elements, binding->out_bytes);
        return GR_OK;
    }
    const gr_source means = {.host = elements, .bytes = binding->out_bytes};
    return gr_upload(device, &means, binding->device_out, binding->stream, interrupt, error);
}

/* ---- arguments ---- */

/* Appends a quantile, a float, out of `whole`. False: fall back to Python. */
static bool append_q(quantiles_call *self, double q, double whole) {
    q /= whole;
    if (!(q >= 0 && q <= 1) || self->count == GR_ORDER_MAX_QUANTILES)
        return false;
    self->q[self->count++] = q;
    return true;
}

static bool parse_q_array(quantiles_call *self, PyArrayObject *array, double whole) {
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(array) || !PyArray_ISALIGNED(array) ||
        PyArray_NDIM(array) > 1)
        return false;
    const npy_intp count = PyArray_SIZE(array),
                   stride = PyArray_NDIM(array) > 0 ? PyArray_STRIDE(array, 0) : 0;
    self->q_ndim = (size_t)PyArray_NDIM(array);
    bool good = count > 0;
    for (npy_intp i = 0; good && i < count; ++i) {
        double q;
        memcpy(&q, PyArray_BYTES(array) + i * stride, sizeof q);
        good = append_q(self, q, whole);
    }
    return good;
}

/* Parses `q=`: a float, an int of percent, a few floats in a list or tuple, or an array of float64. False:
   fall back to Python. */
static bool parse_q(quantiles_call *self, PyObject *value, double whole) {
    self->count = self->q_ndim = 0;
    self->weak = value != NULL && (PyFloat_CheckExact(value) || (whole != 1 && PyLong_CheckExact(value)));
    if (self->weak) {
        const double q = PyFloat_AsDouble(value);
        const bool good = !PyErr_Occurred() && append_q(self, q, whole);
        PyErr_Clear(); /* of an int beyond a double */
        return good;
    }
    if (value != NULL && PyArray_CheckExact(value))
        return parse_q_array(self, (PyArrayObject *)value, whole);
    if (value == NULL || !(PyList_CheckExact(value) || PyTuple_CheckExact(value)))
        return false;
    PyObject *items = PySequence_Tuple(value);
    bool good = items != NULL && PyTuple_GET_SIZE(items) > 0;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(items); ++i) {
        PyObject *const item = PyTuple_GET_ITEM(items, i);
        good = PyFloat_CheckExact(item) && append_q(self, PyFloat_AS_DOUBLE(item), whole);
    }
    self->q_ndim = 1;
    Py_XDECREF(items);
    PyErr_Clear();
    return good;
}

/* Whether all options that only Python handles have their defaults. */
static bool has_default_options(const py_arguments arguments) {
    PyObject *const method = arguments[PY_NAME_method];
    return py_is_none(arguments[PY_NAME_weights]) &&
           (method == NULL ||
            (PyUnicode_CheckExact(method) && PyUnicode_CompareWithASCIIString(method, "linear") == 0));
}

/* Makes the elements contiguous lines along the reduced axes. 1: made; 0: fall back to Python, which copies
   elements on the device; -1 with an exception set. */
static int make_lines(quantiles_call *self, bool *reduced) {
    py_operand *source = &self->job.inputs[0];
    bool last = true, any = false;
    for (size_t d = 0; d < source->ndim; ++d) {
        last = last && (source->extent[d] == 1 || reduced[d] || !any);
        any = any || (reduced[d] && source->extent[d] != 1);
    }
    if (last && py_operand_is_contiguous(source, true))
        return 1;
    return source->owner == NULL ? 0 : py_operands_make_contiguous(&source, 1, NULL, reduced) < 0 ? -1 : 1;
}

/* Infers the shape of the result, and splits the elements into lines. As make_lines. */
static int parse_lines(quantiles_call *self, PyObject *axis, bool keepdims) {
    py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    bool reduced[GR_MAX_NDIM] = {false};
    if (source->ndim == 0 || source->ndim + self->q_ndim > GR_MAX_NDIM || !gr_order_takes(source->dtype) ||
        !py_parse_axes_argument(axis, source->ndim, reduced) || py_operand_count(source, NULL) == 0)
        return 0;
    self->order.dtype = source->dtype;
    self->order.lines = py_operand_count(source, reduced);
    self->order.length = py_operand_count(source, NULL) / self->order.lines;
    job->ndim = 0;
    if (self->q_ndim > 0)
        job->extent[job->ndim++] = self->count;
    for (size_t d = 0; d < source->ndim; ++d)
        if (!reduced[d] || keepdims)
            job->extent[job->ndim++] = reduced[d] ? 1 : source->extent[d];
    return make_lines(self, reduced);
}

/* ---- ranks and weights ---- */

static bool takes_q(py_quantiles which) {
    return which != PY_MEDIAN && which != PY_NANMEDIAN;
}

static bool is_percentile(py_quantiles which) {
    return which == PY_PERCENTILE || which == PY_NANPERCENTILE;
}

/* Whether NaNs are left out, of a dtype that has them. */
static bool leaves_out_nan(const quantiles_call *self, py_quantiles which) {
    return which != PY_MEDIAN && which != PY_QUANTILE && which != PY_PERCENTILE &&
           gr_dtypes[self->order.dtype].kind == GR_KIND_REAL;
}

/* The index of a rank among the ranks that are selected, which it joins if it is new. Ranks are appended in
   any order. */
static uint8_t index_of(quantiles_call *self, uint64_t rank) {
    uint64_t i = 0;
    while (i < self->order.ranks && self->ranks[i] != (int64_t)rank)
        ++i;
    if (i == self->order.ranks)
        self->ranks[self->order.ranks++] = (int64_t)rank;
    return (uint8_t)i;
}

/* Sorts the ranks, and renames the indices of the results. */
static void sort_ranks(quantiles_call *self) {
    gr_order_quantiles *quantiles = &self->quantiles;
    int64_t sorted[GR_ORDER_MAX_RANKS] = {0};
    uint8_t place[GR_ORDER_MAX_RANKS] = {0};
    for (uint64_t i = 0; i < self->order.ranks; ++i) {
        place[i] = 0;
        for (uint64_t k = 0; k < self->order.ranks; ++k)
            place[i] = (uint8_t)(place[i] + (self->ranks[k] < self->ranks[i]));
        sorted[place[i]] = self->ranks[i];
    }
    memcpy(self->ranks, sorted, self->order.ranks * sizeof sorted[0]);
    for (uint64_t i = 0; i < quantiles->results; ++i) {
        quantiles->lower[i] = place[quantiles->lower[i]];
        quantiles->upper[i] = place[quantiles->upper[i]];
    }
}

/* Plans the selection of other ranks in each line by the kernels. */
static void select_valid_middle_on_device(quantiles_call *self) {
    gr_order_request *order = &self->order;
    self->quantiles = GR_ORDER_MIDDLE_OF_VALID(order->dtype);
    order->ranks = self->quantiles.ranks;
    order->valid_middle = true;
    order->quantiles = &self->quantiles;
}

/* Plans the selection of other ranks in each line around one quantile, which only kernels find. */
static int select_valid_quantile(quantiles_call *self) {
    gr_order_request *order = &self->order;
    if (!self->job.on_device || !self->job.inputs[0].on_device || self->count > 1 ||
        (order->dtype != GR_DTYPE_f32 && order->dtype != GR_DTYPE_f64))
        return 0;
    self->quantiles = GR_ORDER_QUANTILE_OF_VALID(self->q[0], self->job.dtype);
    order->ranks = self->quantiles.ranks;
    order->valid_quantile = true;
    order->quantiles = &self->quantiles;
    return 1;
}

/* Plans the selection of other ranks in each line, if NaNs are to be left out. 1: planned; 0: fall back to
   Python; -1 with an exception set. */
static int select_valid(quantiles_call *self, py_quantiles which) {
    gr_order_request *order = &self->order;
    const gr_dtype dtype = order->dtype;
    if (takes_q(which))
        return select_valid_quantile(self);
    const size_t of_line = MIDDLE * (sizeof *self->line_ranks + gr_dtypes[dtype].item_bytes);
    if (self->job.on_device && self->job.inputs[0].on_device) {
        select_valid_middle_on_device(self);
        return 1;
    }
    if (dtype == GR_DTYPE_f16 || dtype == GR_DTYPE_bf16 || order->lines > (uint64_t)PY_SSIZE_T_MAX / of_line)
        return 0;
    self->line_ranks = PyMem_RawMalloc((size_t)order->lines * of_line);
    if (self->line_ranks == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    order->ranks = MIDDLE;
    order->ranks_per_line = true;
    return 1;
}

static void select_middle(quantiles_call *self) {
    const uint64_t length = self->order.length;
    self->quantiles.results = 1;
    self->quantiles.mean = GR_ORDER_MIDPOINT;
    self->quantiles.to = (uint32_t)gr_dtypes[self->order.dtype].mean;
    self->quantiles.lower[0] = index_of(self, (length - 1) / 2);
    self->quantiles.upper[0] = index_of(self, length / 2);
}

/* Places the quantiles by the method "linear", as NumPy computes it. False: fall back to Python. */
static bool select_linear(quantiles_call *self) {
    gr_order_quantiles *quantiles = &self->quantiles;
    const gr_dtype from = self->order.dtype;
    const uint64_t last = self->order.length - 1;
    if (from == GR_DTYPE_b8 || from == GR_DTYPE_bf16 || from == GR_DTYPE_f16)
        return false;
    quantiles->results = self->count;
    quantiles->mean = GR_ORDER_LINEAR;
    quantiles->to = (uint32_t)(self->weak && from == GR_DTYPE_f32 ? GR_DTYPE_f32 : GR_DTYPE_f64);
    for (size_t i = 0; i < self->count; ++i) {
        const double position = (double)last * self->q[i], lower = floor(position);
        const bool above = position >= (double)last;
        /* NumPy counts the last element as the one before the first, which its weight then follows. */
        double weight = position - (above ? -1.0 : lower), rest = 1.0 - weight;
        quantiles->lower[i] = index_of(self, above ? last : (uint64_t)lower);
        quantiles->upper[i] = index_of(self, above ? last : (uint64_t)lower + 1);
        if (quantiles->to == GR_DTYPE_f32) {
            if (((double)(float)weight >= 0.5) != (weight >= 0.5))
                return false; /* NumPy chooses the nearer element before it rounds the weight */
            weight = (double)(float)weight, rest = (double)(float)rest;
        }
        quantiles->weight[i] = weight, quantiles->rest[i] = rest;
    }
    return true;
}

/* ---- results that are not finite ---- */

/* Whether one of the elements is NaN. */
#define HAS_NAN(name, Word)                                                                                  \
    static bool name(const unsigned char *bytes, uint64_t count, Word infinity) {                            \
        const Word magnitude = (Word)((Word)-1 >> 1);                                                        \
        Word bits;                                                                                           \
        bool found = false;                                                                                  \
        for (uint64_t i = 0; i < count; ++i) {                                                               \
            memcpy(&bits, bytes + i * sizeof bits, sizeof bits);                                             \
            found = found || (Word)(bits & magnitude) > infinity;                                            \
        }                                                                                                    \
        return found;                                                                                        \
    }
HAS_NAN(halves_have_nan, uint16_t)
HAS_NAN(floats_have_nan, uint32_t)
HAS_NAN(doubles_have_nan, uint64_t)
#undef HAS_NAN

static bool has_nan(gr_dtype dtype, const unsigned char *elements, uint64_t count) {
    switch ((int)dtype) {
    case GR_DTYPE_f16:
        return halves_have_nan(elements, count, 0x7c00);
    case GR_DTYPE_bf16:
        return halves_have_nan(elements, count, 0x7f80);
    case GR_DTYPE_f32:
        return floats_have_nan(elements, count, UINT32_C(0x7f800000));
    case GR_DTYPE_f64:
        return doubles_have_nan(elements, count, UINT64_C(0x7ff0000000000000));
    default:
        return false;
    }
}

/* Whether all elements are in host memory and each line has a NaN, so that NumPy does not warn of NaNs in the
   results; else the result may have overflowed, which Python reports. */
static bool lines_have_nans(const quantiles_call *self) {
    const py_operand *source = &self->job.inputs[0];
    const unsigned char *elements = source->source.host;
    const uint64_t length = self->order.length;
    bool all = elements != NULL;
    for (uint64_t i = 0; all && i < self->order.lines; ++i)
        all = has_nan(self->order.dtype, elements + i * length * gr_dtypes[self->order.dtype].item_bytes,
                      length);
    return all;
}

/* ---- the call ---- */

/* Plans what is selected and interpolated. 1: planned; 0: fall back to Python; -1 with an exception set. */
static int select_ranks(quantiles_call *self, py_quantiles which) {
    const bool is_real = gr_dtypes[self->order.dtype].kind == GR_KIND_REAL;
    if (leaves_out_nan(self, which)) { /* ranks depend on where the results are: see select_valid */
        self->job.dtype = !takes_q(which) || self->weak ? self->order.dtype : GR_DTYPE_f64;
        return 1;
    }
    if (!takes_q(which))
        select_middle(self);
    else if (!select_linear(self))
        return 0;
    sort_ranks(self);
    self->quantiles.ranks = self->order.ranks;
    self->order.inline_ranks = self->ranks;
    self->order.nans = is_real;
    self->order.quantiles = &self->quantiles;
    self->job.dtype = (gr_dtype)self->quantiles.to;
    return 1;
}

/* 1: parsed; 0: fall back to Python; -1 with an exception set. */
static int parse_arguments(quantiles_call *self, const py_arguments arguments, py_quantiles which) {
    py_job *job = &self->job;
    const py_operand *source = &job->inputs[0];
    PyObject *const axis = arguments[PY_NAME_axis];
    bool keepdims;
    self->count = 1;
    self->q_ndim = 0;
    if (!has_default_options(arguments) || !py_parse_bool(arguments[PY_NAME_keepdims], false, &keepdims) ||
        (takes_q(which) && !parse_q(self, arguments[PY_NAME_q], is_percentile(which) ? 100.0 : 1.0)))
        return 0;
    int parsed = py_operand_from_object(job->state, arguments[PY_NAME_a], job->conversion, GR_SCOPE_GENERAL,
                                        "a", &job->inputs[0]);
    if (parsed > 0 && py_operand_ensure_element_strides(&job->inputs[0]) < 0)
        return -1;
    if (parsed > 0)
        parsed = parse_lines(self, axis, keepdims);
    if (parsed <= 0)
        return parsed;
    parsed = select_ranks(self, which);
    if (parsed <= 0)
        return parsed;
    if (!py_job_set_c_strides(job))
        return 0;
    parsed = py_job_parse_device(job, arguments[PY_NAME_device]);
    if (parsed > 0)
        parsed = py_job_parse_out_and_stream(job, arguments, source->on_device && !py_is_none(axis));
    if (parsed > 0 && leaves_out_nan(self, which))
        parsed = select_valid(self, which);
    job->check_nonfinite = self->order.nans;
    const bool may_repeat = self->order.nans || self->line_ranks != NULL;
    return parsed > 0 && (py_job_out_overlaps(job) || (may_repeat && job->out != NULL && !job->on_device))
               ? 0
               : parsed;
}

/* Whether Python computes the result again, and reports infinities and NaNs. */
static bool is_left_to_python(const quantiles_call *self) {
    return self->is_left || (self->job.has_nonfinite && !lines_have_nans(self));
}

PyObject *py_fast_quantiles(const py_signature *signature, const py_arguments arguments) {
    quantiles_call self = {.order = {.task = GR_ORDER_TASK_SELECT}};
    py_job_init(&self.job, signature->state);
    py_job_use_tensors(&self.job, signature, arguments[PY_NAME_a]);
    py_job_accept_jax(&self.job);
    const int parsed = parse_arguments(&self, arguments, (py_quantiles)signature->parameter);
    PyObject *result =
        py_job_run_parsed(&self.job, parsed, self.line_ranks != NULL ? median_valid : work, &self);
    if (result != NULL && parsed > 0 && is_left_to_python(&self))
        Py_SETREF(result, Py_NewRef(Py_NotImplemented));
    PyMem_RawFree(self.line_ranks);
    py_job_release(&self.job);
    return result;
}
