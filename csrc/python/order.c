/* Order statistics along the last axis: elements of given ranks (quantiles, medians), the k first elements
   (topk), and the number of elements that are not NaN. */
#include "order/order.h"

#include <string.h>

#include "python/errors.h"
#include "python/job.h"
#include "python/methods.h"

enum { ELEMENTS, OTHERS };

typedef struct order_call {
    py_job job;
    gr_order_request order;
    int64_t inline_ranks[GR_ORDER_MAX_RANKS];
    gr_order_quantiles quantiles;
} order_call;

/* Parses the elements: (lines, length), at least one, contiguous. */
static int parse_elements(order_call *self, PyObject *a) {
    py_job *job = &self->job;
    py_operand *source = &job->inputs[ELEMENTS];
    if (py_operand_from_object(job->state, a, PY_NATIVE, GR_SCOPE_GENERAL, "a", source) < 0 ||
        py_operand_ensure_element_strides(source) < 0)
        return -1;
    if (!gr_order_takes(source->dtype))
        return PY_RAISE(PyExc_TypeError, "a: %s has no order", gr_dtypes[source->dtype].numpy_name);
    if (source->ndim != 2 || py_operand_count(source, NULL) == 0)
        return PY_RAISE(PyExc_ValueError, "a: expected lines of elements");
    if (!py_operand_is_contiguous(source, true)) {
        if (source->owner == NULL)
            return PY_RAISE(PyExc_ValueError, "a: expected elements side by side");
        if (py_operand_make_contiguous(source) < 0)
            return -1;
    }
    self->order.dtype = job->dtype = source->dtype;
    self->order.lines = source->extent[0];
    self->order.length = source->extent[1];
    job->as_array = true;
    job->ndim = 2;
    job->extent[0] = source->extent[0];
    return 0;
}

/* Whether the ranks of each line ascend and are less than the length of a line. */
static bool are_ranks(const int64_t *ranks, uint64_t lines, uint64_t count, uint64_t length) {
    for (uint64_t i = 0; i < lines * count; ++i)
        if ((uint64_t)ranks[i] >= length || (i % count != 0 && ranks[i] < ranks[i - 1]))
            return false;
    return true;
}

/* Parses the ranks: the same for all lines (one axis), or different ones per line (two axes). The former are
   copied to `self` if they are at most GR_ORDER_MAX_RANKS, and then passed as kernel parameters. */
static int parse_ranks(order_call *self, PyObject *object) {
    py_operand *ranks = &self->job.inputs[OTHERS];
    gr_order_request *order = &self->order;
    self->job.input_count = 2;
    if (py_operand_from_object(self->job.state, object, PY_NATIVE, GR_SCOPE_GENERAL, "ranks", ranks) < 0)
        return -1;
    const size_t ndim = ranks->ndim;
    if (ranks->owner == NULL || ranks->dtype != GR_DTYPE_i64 || ndim < 1 || ndim > 2 ||
        py_operand_count(ranks, NULL) == 0 || !py_operand_is_contiguous(ranks, true) ||
        (ndim == 2 && ranks->extent[0] != order->lines))
        return PY_RAISE(PyExc_ValueError, "ranks: expected int64 side by side, of each line or of all");
    order->ranks_per_line = ndim == 2;
    order->ranks = ranks->extent[ndim - 1];
    if (!are_ranks(PyArray_DATA((PyArrayObject *)ranks->owner), order->ranks_per_line ? order->lines : 1,
                   order->ranks, order->length))
        return PY_RAISE(PyExc_ValueError, "ranks: expected integers that ascend, less than the length");
    if (!order->ranks_per_line && order->ranks <= GR_ORDER_MAX_RANKS) {
        memcpy(self->inline_ranks, PyArray_DATA((PyArrayObject *)ranks->owner),
               order->ranks * sizeof self->inline_ranks[0]);
        order->inline_ranks = self->inline_ranks;
        self->job.input_count = 1;
    }
    self->job.extent[1] = order->ranks;
    return 0;
}

/* Parses the dict of the interpolation between elements, whose arrays are bytes. `lower` and `upper` are
 * indices of ranks, `weight` and `rest` doubles, one per result. */
static int parse_quantiles(order_call *self, PyObject *object) {
    static char *names[] = {"mean", "dtype", "lower", "upper", "weight", "rest", NULL};
    gr_order_quantiles *quantiles = &self->quantiles;
    const char *name, *lower, *upper, *weight, *rest;
    Py_ssize_t counts[4];
    int mean, dtype = 0;
    if (!py_parse_fields(object, "quantiles", "isy#y#y#y#", names, &mean, &name, &lower, &counts[0], &upper,
                         &counts[1], &weight, &counts[2], &rest, &counts[3]))
        return -1;
    while (dtype < GR_DTYPE_COUNT && strcmp(gr_dtypes[dtype].numpy_name, name) != 0)
        ++dtype;
    const gr_dtype from = self->order.dtype, to = (gr_dtype)dtype, own = gr_dtypes[from].mean;
    const bool fits = mean == GR_ORDER_LOWER ? to == from
                      : mean == GR_ORDER_MIDPOINT
                          ? to == own
                          : mean == GR_ORDER_LINEAR && from != GR_DTYPE_b8 && from != GR_DTYPE_bf16 &&
                                (to == own || to == GR_DTYPE_f64);
    if (!fits || counts[0] < 1 || counts[0] > GR_ORDER_MAX_QUANTILES || counts[1] != counts[0] ||
        counts[2] != counts[0] * (Py_ssize_t)sizeof(double) || counts[3] != counts[2])
        return PY_RAISE(PyExc_ValueError, "quantiles: expected a mean of elements, for a few results");
    *quantiles =
        (gr_order_quantiles){.results = (uint64_t)counts[0], .to = (uint32_t)to, .mean = (uint32_t)mean};
    memcpy(quantiles->lower, lower, (size_t)counts[0]);
    memcpy(quantiles->upper, upper, (size_t)counts[0]);
    memcpy(quantiles->weight, weight, (size_t)counts[2]);
    memcpy(quantiles->rest, rest, (size_t)counts[3]);
    for (size_t i = 0; i < quantiles->results; ++i)
        if (quantiles->lower[i] >= self->order.ranks || quantiles->upper[i] >= self->order.ranks)
            return PY_RAISE(PyExc_ValueError, "quantiles: expected numbers of ranks");
    self->order.quantiles = quantiles;
    self->job.dtype = to;
    self->job.extent[1] = self->job.extent[0];
    self->job.extent[0] = quantiles->results;
    return 0;
}

/* Parses k and the array to which the indices of the k first elements are written. */
static int parse_indices(order_call *self, PyObject *object, Py_ssize_t k) {
    py_operand *indices = &self->job.inputs[OTHERS];
    gr_order_request *order = &self->order;
    self->job.input_count = 2;
    if (py_operand_from_object(self->job.state, object, PY_NATIVE, GR_SCOPE_GENERAL, "indices", indices) < 0)
        return -1;
    if (k < 1 || (uint64_t)k > order->length)
        return PY_RAISE(PyExc_ValueError, "k: expected 1 to the length of a line");
    order->k = (uint64_t)k;
    if (indices->owner != NULL || indices->dtype != GR_DTYPE_i64 || indices->ndim != 2 ||
        indices->extent[0] != order->lines || indices->extent[1] != order->k ||
        !py_operand_is_contiguous(indices, true) || indices->read_only)
        return PY_RAISE(PyExc_ValueError, "indices: expected room for int64 on the device");
    self->job.extent[1] = order->k;
    return 0;
}

static gr_status work(void *arg, gr_device *device, const gr_binding *binding, const gr_interrupt *interrupt,
                      gr_error *error) {
    return gr_order_run(device, &((const order_call *)arg)->order, binding, interrupt, error);
}

static int parse_destination(order_call *self, PyObject *destination) {
    py_job *job = &self->job;
    if (!py_job_set_c_strides(job))
        return PY_RAISE(PyExc_ValueError, "a: too many results for any memory");
    return py_job_parse_destination(job, destination) < 0 ? -1 : py_job_check_overlap(job, "a");
}

PyObject *py_order_select(PyObject *module, PyObject *args) {
    PyObject *a, *ranks, *quantiles, *destination, *result = NULL;
    int nans;
    if (!PyArg_ParseTuple(args, "OOpOO", &a, &ranks, &nans, &quantiles, &destination))
        return NULL;
    order_call self = {.order = {.task = GR_ORDER_TASK_SELECT, .nans = nans != 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a) == 0 && parse_ranks(&self, ranks) == 0 &&
        (quantiles == Py_None || parse_quantiles(&self, quantiles) == 0) &&
        parse_destination(&self, destination) == 0)
        result = py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

/* The median of the elements of each line that are not NaN or, with a number `q` from 0 to 1, their quantile:
   in float64, or with `weak` in the dtype of the elements. */
PyObject *py_order_valid(PyObject *module, PyObject *args) {
    PyObject *a, *q, *destination, *result = NULL;
    int weak;
    if (!PyArg_ParseTuple(args, "OOpO", &a, &q, &weak, &destination))
        return NULL;
    const double quantile = q == Py_None ? 0 : PyFloat_AsDouble(q);
    if (PyErr_Occurred())
        return NULL;
    order_call self = {.order = {.task = GR_ORDER_TASK_SELECT}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a) == 0) {
        gr_order_request *order = &self.order;
        const gr_dtype to = q == Py_None || weak ? order->dtype : GR_DTYPE_f64;
        self.quantiles =
            q == Py_None ? GR_ORDER_MIDDLE_OF_VALID(to) : GR_ORDER_QUANTILE_OF_VALID(quantile, to);
        order->valid_middle = q == Py_None;
        order->valid_quantile = q != Py_None;
        order->ranks = self.quantiles.ranks;
        order->quantiles = &self.quantiles;
        self.job.dtype = to;
        self.job.ndim = 1;
        if (gr_dtypes[order->dtype].kind != GR_KIND_REAL)
            PyErr_SetString(PyExc_TypeError, "a: expected real floating-point numbers");
        else if (!(quantile >= 0 && quantile <= 1))
            PyErr_SetString(PyExc_ValueError, "q: expected 0 to 1");
        else if (parse_destination(&self, destination) == 0)
            result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}

PyObject *py_order_topk(PyObject *module, PyObject *args) {
    PyObject *a, *indices, *destination, *result = NULL;
    Py_ssize_t k;
    int largest, sorted;
    if (!PyArg_ParseTuple(args, "OnppOO", &a, &k, &largest, &sorted, &indices, &destination))
        return NULL;
    order_call self = {.order = {.task = GR_ORDER_TASK_TOPK, .largest = largest != 0, .sorted = sorted != 0}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a) == 0 && parse_indices(&self, indices, k) == 0 &&
        parse_destination(&self, destination) == 0)
        result = py_job_run(&self.job, work, &self);
    py_job_release(&self.job);
    return result;
}

PyObject *py_order_count_valid(PyObject *module, PyObject *args) {
    PyObject *a, *destination, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO", &a, &destination))
        return NULL;
    order_call self = {.order = {.task = GR_ORDER_TASK_COUNT_VALID}};
    py_job_init(&self.job, PyModule_GetState(module));
    if (parse_elements(&self, a) == 0) {
        self.job.dtype = GR_DTYPE_i64;
        self.job.ndim = 1;
        if (parse_destination(&self, destination) == 0)
            result = py_job_run(&self.job, work, &self);
    }
    py_job_release(&self.job);
    return result;
}
